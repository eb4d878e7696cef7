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
    "sealing": f"{_FOLDER}/test_sealing.py -k 'not off and not closed'",
    "sockets": f"{_FOLDER}/test_sockets.py -k 'kernel_decides or selection or all_methods or no_room or swapped"
    " or group or trial or fragments or 1-ring or 2-ring or 2-socket'",
    "interfaces": f"{_FOLDER}/test_where.py -k 'bridge or vlan or bond or flap'",
    "networks": f"{_FOLDER}/test_networks.py -k 'ipv6-gro-on or bridge or bond or vlan or fragments'",
    "links": f"{_FOLDER}/test_links.py -k all_are_captured",
}
"""What is run in each guest, and by which words of pytest.

Left out, as an emulated processor takes its time: the same with 4 workers, with shares of connections and with tunnels,
where the kernel does nothing else than with 2 and without; networks of one interface that another row has too; and
test_methods, whose load of 8,000 statements beside three collectors is too much for it. Left out, as the kernel has no
part in it: what is about processes and configuration (test_running, test_reloading, test_following).
"""
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
        report = self.result.folder / f"{group}.xml"
        assert report.exists(), f"{self.release}: {group} gave no report\n{self.result.output[-4000:]}"
        return list(ElementTree.parse(report).iter("testcase"))  # noqa: S314  # our own pytest wrote it


@pytest.fixture(scope="module")
def record() -> Iterator[dict[str, Row]]:
    """Takes what came of each kernel, for the document."""
    rows: dict[str, Row] = {}
    yield rows
    if kernelrecord.WRITES and rows.keys() == SUITES.keys():
        kernelrecord.write(rows)


@pytest.fixture(scope="module", params=SUITES)
def guest(
    request: pytest.FixtureRequest, report: Callable[[str], None], tmp_path_factory: pytest.TempPathFactory
) -> Guest:
    version: str = request.param
    try:
        found = kernel(version)
        result = machine.run(
            found, project.job(GROUPS, TIMEOUT_S, [_CHOICES]), tmp_path_factory.mktemp("guest") / version
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
    committed = kernelrecord.committed()
    assert kernelrecord.WRITES or not committed or committed[guest.version][group] == found


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


def test_the_document_has_a_row_for_each_kernel_and_a_column_for_each_group() -> None:
    found = kernelrecord.committed()
    assert not found or list(found) == list(SUITES)
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
