from __future__ import annotations

import os
from pathlib import Path

import pytest

from collector.capture import namespaces
from collector.capture.namespaces import OWN, Namespace, NamespaceError, entered
from collector.config import StartError


def test_ones_own_is_there_and_needs_no_right() -> None:
    with entered(OWN) as namespace:
        assert namespace.inode == Path("/proc/self/ns/net").stat().st_ino
        assert (namespace.called, namespace.gone(), namespace.replaced()) == ("this network namespace", False, False)


@pytest.mark.parametrize("place", ["/nosuch", "999999999", "/proc/999999999/ns/net"])
def test_one_that_is_not_there_is_said_with_how_to_look_for_it(place: str) -> None:
    with pytest.raises(NamespaceError, match=f"there is no network namespace {place}") as caught, entered(place):
        pass
    assert "lsns" in caught.value.remedy


def test_without_the_right_it_says_which_one_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int) -> None:
        raise PermissionError

    monkeypatch.setattr(namespaces, "_set", refuse)
    with pytest.raises(StartError, match="CAP_SYS_ADMIN") as caught, entered(str(os.getpid())):
        pass
    assert "capture.namespaces" in caught.value.remedy


def test_what_is_no_namespace_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(StartError, match=f"{file} is no network namespace"), entered(str(file)):
        pass


def test_a_path_can_go_and_come_to_name_another_one(tmp_path: Path) -> None:
    path = tmp_path / "db"
    namespace = Namespace(str(path))
    assert (namespace.gone(), namespace.replaced()) == (True, False)
    path.touch()
    assert (namespace.gone(), namespace.replaced()) == (False, True)
    assert namespace.called == f"network namespace {path}"


def test_one_named_by_a_process_goes_with_it() -> None:
    assert not Namespace(str(os.getpid())).gone()
    assert not Namespace("1").gone()  # which is somebody else's where this is not run by root
    assert Namespace("999999999").gone()
    assert not Namespace(f"/proc/{os.getpid()}/ns/net").replaced()
