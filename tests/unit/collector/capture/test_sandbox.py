from __future__ import annotations

import pytest

from collector.capture import landlock, sandbox, seccomp
from collector.config import StartError


def kernel(monkeypatch: pytest.MonkeyPatch, flags: int | None, version: int) -> None:
    """What the kernel is said to have."""
    monkeypatch.setattr(seccomp, "flags", lambda: flags)
    monkeypatch.setattr(landlock, "version", lambda: version)


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What was taken away, in order."""
    found: list[object] = []
    monkeypatch.setattr(seccomp, "machine", lambda: "x86_64")
    monkeypatch.setattr(seccomp, "install", lambda program, flags: found.append((len(program) > 1, flags)))
    monkeypatch.setattr(landlock, "restrict", found.append)
    return found


def seal(setting: str) -> sandbox.Sandbox:
    found = sandbox.sandbox(setting)
    found.before_threads()
    found.after_threads()
    return found


@pytest.mark.parametrize("setting", ["auto", "required"])
def test_a_kernel_with_both_seals_by_both_landlock_first(
    monkeypatch: pytest.MonkeyPatch, steps: list[object], setting: str
) -> None:
    kernel(monkeypatch, 7, 6)
    found = seal(setting)
    assert steps == [6, (True, 7)]
    assert found.text == "seccomp and Landlock (version 6)"
    assert found.missing == ()


@pytest.mark.parametrize(
    ("flags", "version", "done", "text"),
    [
        (None, 4, [4], "Landlock (version 4)"),
        (1, 0, [(True, 1)], "seccomp"),
        (None, 0, [], "none (the kernel has neither seccomp nor Landlock)"),
    ],
)
def test_what_a_kernel_lacks_is_named_and_by_demand_refused(
    monkeypatch: pytest.MonkeyPatch, steps: list[object], flags: int | None, version: int, done: list[object], text: str
) -> None:
    kernel(monkeypatch, flags, version)
    found = seal("auto")
    assert steps == done
    assert found.text == text
    assert found.missing == (("a seccomp filter for all threads",) if flags is None else ()) + (
        () if version else ("Landlock",)
    )
    with pytest.raises(StartError, match=r'workers\.sandbox is "required"') as refused:
        sandbox.sandbox("required")
    assert all(what in str(refused.value) for what in found.missing)


def test_switched_off_nothing_is_taken_away_nor_missed(monkeypatch: pytest.MonkeyPatch, steps: list[object]) -> None:
    kernel(monkeypatch, 7, 6)
    found = seal("off")
    assert steps == []
    assert found.text == "off (workers.sandbox)"
    assert found.missing == ()
