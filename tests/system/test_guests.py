"""Guests themselves: a job's result comes back, and where none does that is said with what the console shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.debian import UnavailableError
from tests.support.guests import image, kernels, machine
from tests.support.guests.kernels import Kernel
from tests.support.guests.machine import GuestError, Job

pytestmark = pytest.mark.integration

VERSION = "6.1"


@pytest.fixture(scope="module")
def kernel(report: Callable[[str], None]) -> Kernel:
    try:
        image.image()
        return kernels.kernel(VERSION)
    except UnavailableError as error:
        report(f"NOT TESTED: guests: {error}")
        pytest.skip(str(error))


def test_what_a_job_prints_leaves_and_ends_with_comes_back(kernel: Kernel, tmp_path: Path) -> None:
    (tmp_path / "given").write_text("what it was given")
    script = "uname -r; cat given/file >/out/left; echo trouble >&2; exit 3"
    result = machine.run(kernel, Job(script=script, files={"given/file": tmp_path / "given"}), tmp_path / "out")
    assert (result.status, result.output.splitlines()) == (3, [kernel.release, "trouble"])
    assert (result.folder / "left").read_text() == "what it was given"


def test_a_job_may_be_a_unit_of_a_system_that_systemd_has_started(kernel: Kernel, tmp_path: Path) -> None:
    script = "cat /proc/1/comm; systemctl show --property=Id --value guest-job; systemctl --failed --plain --no-legend"
    result = machine.run(kernel, Job(script=script, init="systemd"), tmp_path / "out")
    assert (result.status, result.output.splitlines()) == (0, ["systemd", "guest-job.service"]), result.console


def test_where_nothing_comes_back_the_console_is_told(kernel: Kernel, tmp_path: Path) -> None:
    job = Job(script="echo nearly there; echo o >/proc/sysrq-trigger; sleep 60")
    with pytest.raises(GuestError, match="nearly there"):
        machine.run(kernel, job, tmp_path / "out")
