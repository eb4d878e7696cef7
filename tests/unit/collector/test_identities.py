from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from collector import identities, privileges
from collector.config import StartError
from collector.identities import SERVICE, WORKERS
from collector.privileges import Identity

MISSING = identities.Role("process.user", "no-such-user-here", 65529)


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    """All users can be become, none of those of the packages is there, and no process is anybody's."""
    monkeypatch.setattr(identities, "within_reach", lambda _: True)
    monkeypatch.setattr(identities, "strangers", lambda *_: [])


def test_uids_are_mapped_where_a_line_of_the_table_has_them() -> None:
    whole = "         0          0 4294967295\n"
    one = "         0       1000          1\n"
    two = "0 1000 1\n1 100000 65536\n"
    assert identities.mapped(whole, 65534)
    assert identities.mapped(one, 0)
    assert not identities.mapped(one, 65534)
    assert identities.mapped(two, 65534)
    assert not identities.mapped(two, 65537)


def test_a_user_that_was_asked_for_and_does_not_exist_is_an_error_that_names_the_option() -> None:
    with pytest.raises(StartError, match=r"no-such-user-here(.|\n)*process\.worker_user"):
        identities.identity("no-such-user-here", WORKERS)


def test_the_present_identity_is_that_of_this_process() -> None:
    present = identities.present()
    assert (present.uid, present.gid) == (os.geteuid(), os.getegid())


def test_a_user_that_cannot_be_become_is_replaced_by_the_present_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(privileges, "has_capability", lambda _: False)
    assert identities.identity("root", SERVICE).uid == 1000
    assert identities.identity("", MISSING).uid == 1000


@pytest.mark.usefixtures("root")
def test_without_the_users_of_the_packages_workers_and_aggregator_are_still_two_users() -> None:
    service, worker = (
        identities.identity("", identities.Role(role.option, f"no-such-{role.usual}", role.number))
        for role in (SERVICE, WORKERS)
    )
    assert (service.uid, service.gid) == (65530, 65530)
    assert (worker.uid, worker.gid) == (65531, 65531)
    with pytest.raises(KeyError):
        pwd.getpwuid(service.uid)


@pytest.mark.usefixtures("root")
def test_a_number_that_is_a_users_or_a_groups_is_not_taken_over() -> None:
    taken = identities.Role("process.user", "no-such-user-here", pwd.getpwnam("nobody").pw_uid)
    with pytest.raises(StartError, match='65534, which stands in for it, is taken by the user "nobody"') as caught:
        identities.identity("", taken)
    assert "useradd --system" in caught.value.remedy
    assert "process.user" in caught.value.remedy


@pytest.mark.usefixtures("root")
def test_a_number_that_a_process_has_is_not_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identities, "strangers", lambda number, _: ["77"] if number == MISSING.number else [])
    with pytest.raises(StartError, match="65529, which stands in for it, is taken by process 77"):
        identities.identity("", MISSING)


def process(folder: Path, name: str, users: str, *command: str, state: str = "S (sleeping)") -> Path:
    made = folder / name
    made.mkdir()
    (made / "status").write_text(f"Name:\tx\nState:\t{state}\nUid:\t{users}\nGid:\t0\t0\t0\t0\n")
    (made / "cmdline").write_bytes(b"".join(word.encode() + b"\0" for word in command))
    return made


def test_querytaps_own_processes_are_no_strangers_and_whoever_has_the_number_in_any_place_is(tmp_path: Path) -> None:
    found = identities.strangers(7, [
        process(tmp_path, "1", "0\t0\t0\t0", "init"),
        process(tmp_path, "2", "7\t7\t7\t7", "/usr/bin/python3", "-P", "-m", "collector.aggregator", "--workers", "1"),
        process(tmp_path, "3", "7\t7\t7\t7", "/usr/bin/httpd", "-m"),
        process(tmp_path, "4", "0\t0\t7\t0", "su"),
        process(tmp_path, "5", "70\t70\t70\t70", "other"),
        tmp_path / "ended",
    ])  # fmt: skip
    assert found == ["3", "4"]


def test_a_process_that_is_over_holds_no_number_though_its_parent_never_asks(tmp_path: Path) -> None:
    assert identities.strangers(7, [process(tmp_path, "1", "7\t7\t7\t7", state="Z (zombie)")]) == []


def test_the_numbers_of_the_two_roles_differ_and_are_nobodys_here() -> None:
    assert SERVICE.number != WORKERS.number
    for role in (SERVICE, WORKERS):
        assert 65520 <= role.number < 65534
        assert identities.within_reach(Identity(0, 0, "root")) == (os.geteuid() == 0)
