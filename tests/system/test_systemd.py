"""querytap's units under a real systemd, in a guest: what they may do, and that restarts and kills lose no packet."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import debian, gaps, generallog, processes, statements
from tests.support.collector import Archive
from tests.support.guests import kernels, machine, project
from tests.system import systemd_guest
from tests.system.systemd_guest import UNITS

pytestmark = pytest.mark.integration

NET_RAW = f"{1 << 13:016x}"
NONE = f"{0:016x}"
SECCOMP_FILTER = "2"


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> machine.Result:
    """What the job in the guest left."""
    script = (
        f"mkdir /out/accounts; export QUERYTAP_TEST_SLOWNESS={project.SLOWNESS} PYTHONSAFEPATH=1;"
        " PYTHONPATH=/job/site:/job/project python3 -m tests.system.systemd_guest /out/accounts 2>error && exit;"
        " journalctl --no-pager -n 100; cat error; exit 1"
    )
    files = {f"project/{name}": processes.ROOT / name for name in ("tests", "packaging")}
    job = machine.Job(
        script=script,
        files={"site": processes.PACKAGES, **files},
        left_out=project.LEFT_OUT,
        init="systemd",
        timeout_s=1500,
        memory_mib=2048,
    )
    try:
        result = machine.run(kernels.kernel("6.1"), job, tmp_path_factory.mktemp("guest") / "out")
    except debian.UnavailableError as error:
        pytest.skip(f"there is no guest to be had: {error}")
    assert result.status == 0, result.output[-8000:]
    return result


@pytest.fixture(scope="module")
def accounts(guest: machine.Result) -> Path:
    return guest.folder / "accounts"


@pytest.fixture(scope="module")
def found(accounts: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((accounts / "found.json").read_text())
    return read


def test_all_units_start_and_capture_waits_for_a_server(found: dict[str, Any]) -> None:
    assert found["waiting"] == "nothing is recorded until a server is there"
    assert found["states"] == dict.fromkeys(UNITS, "active")
    assert found["status"] == f"records port {systemd_guest.PORT}"
    assert found["kept"] == 4  # a socket, its page, its checkpoint, and what they are


def test_no_process_has_a_capability_or_a_way_to_one_once_it_runs(found: dict[str, Any]) -> None:
    for unit in UNITS:
        for process in found["rights"][unit]:
            assert (process["CapEff"], process["CapPrm"], process["CapAmb"]) == (NONE, NONE, NONE), unit
            assert process["CapBnd"] == (NET_RAW if unit == "querytap-capture" else NONE)
            assert process["NoNewPrivs"] == "1"
            assert process["Seccomp"] == SECCOMP_FILTER
    assert [len(found["rights"][unit]) for unit in UNITS] == [2, 1, 1]
    assert len({process["Uid"] for unit in UNITS for process in found["rights"][unit]}) == 3
    assert "0" not in {process["Uid"] for unit in UNITS for process in found["rights"][unit]}


def test_restarts_and_kills_lose_no_packet(
    found: dict[str, Any], accounts: Path, report: Callable[[str], None]
) -> None:
    archive = Archive(accounts, accounts / "run")
    listed = [one for name in "ab" for one in statements.load(accounts / name)]
    log = generallog.network_statements((accounts / "general.log").read_bytes(), [])
    assert not statements.differences("the log", Counter(log), "the senders' lists", Counter(listed))
    for worker in found["restarts"].values():
        assert (worker["packets"]["dropped"], worker["packets"]["lost"], worker["statements"]["lost"]) == (0, 0, 0)
        assert worker["incarnation"] == systemd_guest.RESTARTS
    command = processes.querytap("read", str(archive.archive), "--ledger", "--format", "json")
    ledger = json.loads(processes.run(command).stdout.splitlines()[-1])["ledger"]
    last = {int(number): worker["incarnation"] for number, worker in ledger["workers"].items()}
    account = gaps.recorded(archive)
    missing = gaps.missing(account, gaps.logged(log), last)
    report(
        f"systemd: {missing.statements} of {len(listed)} statements missing after {systemd_guest.RESTARTS} restarts of"
        f" capture and a kill of each unit; exposure {'; '.join(found['security'].values())}"
    )
    assert account.invented == []
    lost = {
        what: sum(worker[what]["lost"] for worker in ledger["workers"].values()) for what in ("packets", "statements")
    }
    assert lost["packets"] == 0, ledger
    assert missing.statements <= lost["statements"]  # what was on its way to the aggregator that was killed
    assert last == {0: systemd_guest.RESTARTS + 1}
