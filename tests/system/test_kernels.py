"""The tests of capture that depend on the kernel, in the kernels of Debian's suites; what querytap chooses on each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import pytest

from tests.support.debian import UnavailableError
from tests.support.guests import machine, project
from tests.support.guests.kernels import SUITES, kernel
from tests.support.guests.machine import GuestError, Result
from tests.system import kernelrecord
from tests.system.kernelrecord import Row

pytestmark = pytest.mark.integration

_FOLDER: Final = "tests/integration/capture"
GROUPS: Final = {
    "sockets": (
        "the_kernel_decides_as_the_interpreter_does",
        "no_packet_of_another_time_interface_or_port_is_in_a_ring",
        "a_selection_of_interfaces_sees_no_other_and_loopback_but_once",
        "all_methods_give_the_same_packets_with_length_direction_and_vlan_tag",
        "all_methods_give_the_same_records",
        "what_finds_no_room_is_counted_whatever_the_method",
        "a_filter_that_is_swapped_loses_no_packet",
        "a_group_has_a_number_of_its_own_and_takes_no_stranger",
        "a_trial_tells_a_fanout_that_keeps_directions_together_from_one_that_does_not",
        "fragments_are_put_together_where_that_is_asked_for",
        *(
            f"both_directions_of_a_connection_are_in_one_ring_whole_and_once[2-{method}-{kind}]"
            for method in ("ring", "ring-v2", "socket")
            for kind in ("hash", "cbpf")
        ),
    ),
    "sealing": (
        "a_worker_that_is_taken_over_reaches_no_file_no_network_and_no_process",
        "the_filter_holds_root_too",
        "landlock_alone_keeps_root_from_files_ports_abstract_sockets_and_processes",
    ),
    "where": ("named_interfaces_may_go_come_flap_and_change_their_names",),
}
"""What is run in each guest: of the file test_GROUP.py, these tests.

Left out, as an emulated processor takes its time: that in which the kernel does nothing else (one worker and four,
shares of connections, tunnels, other networks), and loads (test_methods, test_networks, test_links). Left out, as the
kernel has no part in it: what is about processes and configuration (test_running, test_reloading, test_following).
"""
TESTS: Final = tuple(f"{_FOLDER}/test_{group}.py::test_{test}" for group, tests in GROUPS.items() for test in tests)
_NO_LANDLOCK: Final = "this kernel has no Landlock of version 6"
SKIPS: Final = {"5.10": {_NO_LANDLOCK}, "6.1": {_NO_LANDLOCK}}
"""What a kernel may lack; a skip for another reason is a failure."""
LANDLOCK: Final = {"5.10": 0, "6.1": 2, "6.12": 6, "7.2": 7}
"""The least version of Landlock in each (linux/Documentation/userspace-api/landlock.rst); 0: it is not there."""
TIMEOUT_S: Final = 2400
_CHOICES: Final = "tests.support.guests.choices"


@dataclass(frozen=True)
class Guest:
    """What came of one kernel."""

    version: str
    release: str
    result: Result

    def choices(self) -> dict[str, Any]:
        """What querytap says of itself there."""
        report = self.result.folder / f"{_CHOICES}.out"
        assert report.exists(), f"{self.release}:\n{self.result.output[-4000:]}"
        found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
        return found

    def cell(self, group: str) -> str:
        """What became of a group in which nothing failed."""
        cases = self.cases(group)
        assert not any(map(problem, cases))
        skipped = sum(bool(skip(case)) for case in cases)
        return kernelrecord.cell(len(cases) - skipped, skipped)

    def cases(self, group: str) -> list[ElementTree.Element]:
        """The tests of a group, as JUnit's XML has them."""
        report = self.result.folder / project.REPORT
        assert report.exists(), f"{self.release}: there is no report\n{self.result.output[-4000:]}"
        everything = ElementTree.parse(report).iter("testcase")  # noqa: S314  # our own pytest wrote it
        found = [case for case in everything if name(case).startswith(f"test_{group}::")]
        assert found, f"{self.release}: none of {group} was run\n{self.result.output[-4000:]}"
        return found


@pytest.fixture(scope="module")
def record() -> Iterator[dict[str, Row]]:
    """Takes what came of each kernel, for the document."""
    rows: dict[str, Row] = {}
    yield rows
    if kernelrecord.WRITES and rows:
        kernelrecord.write(rows)


@pytest.fixture(scope="module", params=SUITES)
def guest(
    request: pytest.FixtureRequest, report: Callable[[str], None], tmp_path_factory: pytest.TempPathFactory
) -> Guest:
    version: str = request.param
    try:
        found = kernel(version)
        result = machine.run(
            found, project.job(TESTS, TIMEOUT_S, [_CHOICES]), tmp_path_factory.mktemp("guest") / version
        )
    except UnavailableError as error:
        report(f"NOT TESTED: Linux {version}: {error}")
        pytest.skip(str(error))
    except GuestError as error:
        pytest.fail(str(error))
    report(f"Linux {found.release}: {result.seconds:.0f} s in the guest")
    return Guest(version, found.release, result)


@pytest.mark.parametrize("group", GROUPS)
def test_what_holds_of_capture_holds_on_this_kernel(guest: Guest, group: str, report: Callable[[str], None]) -> None:
    cases = guest.cases(group)
    failed = {name(case): problem(case) for case in cases if problem(case)}
    skipped = {name(case): skip(case) for case in cases if skip(case)}
    for test, reason in skipped.items():
        report(f"Linux {guest.version}, {group}: skipped {test}: {reason}")
    assert not failed, "\n\n".join(f"{test}:\n{text[-3000:]}" for test, text in failed.items())
    assert set(skipped.values()) <= SKIPS.get(guest.version, set())
    found = guest.cell(group)
    report(f"Linux {guest.version}, {group}: {found}")
    committed = kernelrecord.committed().get(guest.version)
    assert kernelrecord.WRITES or not committed or committed[group] == found


def test_what_is_chosen_on_this_kernel_is_what_it_has(guest: Guest, record: dict[str, Row]) -> None:
    chosen = guest.choices()
    said = chosen["said"]
    assert chosen["release"] == guest.release
    assert said["method"].startswith("ring, "), "TPACKET_V3 is in all of them"
    assert said["fanout"].startswith("hash: tried with both directions of 128 connections, each met itself")
    least = LANDLOCK[guest.version]
    assert chosen["landlock"] >= least
    assert (chosen["landlock"] > 0) == (least > 0)
    version = f" and Landlock (version {chosen['landlock']})" if least else ""
    assert said["sandbox"].startswith(f"seccomp{version}")
    groups = {group: guest.cell(group) for group in GROUPS}
    seconds = round(guest.result.seconds)
    record[guest.version] = Row(guest.release, seconds, "ring", "hash", chosen["landlock"], groups)


def test_the_documents_rows_are_of_these_kernels_in_order_with_a_column_for_each_group() -> None:
    found = kernelrecord.committed()
    assert list(found) == [version for version in SUITES if version in found]
    assert all(row[group] for row in found.values() for group in GROUPS)


def name(case: ElementTree.Element) -> str:
    return f"{Path(case.get('classname', '').replace('.', '/')).name}::{case.get('name')}"


def problem(case: ElementTree.Element) -> str:
    """Why a test failed, with its traceback; empty when it did not."""
    found = [child for child in case if child.tag in {"failure", "error"}]
    return "\n".join(child.text or child.get("message") or "" for child in found)


def skip(case: ElementTree.Element) -> str:
    """Why a test was skipped; empty when it was not."""
    return next((child.get("message", "") for child in case if child.tag == "skipped"), "")
