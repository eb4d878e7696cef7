"""The aggregator's process beside a store that is down while a load runs, killed and started anew meanwhile."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collector.reading.archive import gaps, list_archive
from collector.reading.ledgers import last_headers
from collector.reading.objects import read_header
from tests.support.objectstores import ACCESS_KEY, BUCKET, SECRET_KEY, Moto, environment
from tests.unit.collector.aggregator.test_process import Process

pytestmark = [pytest.mark.integration, pytest.mark.either_build]

WAIT_S = 60


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for key, value in environment("").items():
        monkeypatch.setenv(key, value)


def status(process: Process) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((process.folder / "run" / "aggregator" / "status.json").read_text())
    return found


def until(process: Process, reached: Callable[[dict[str, Any]], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not reached(status(process)):
        assert time.monotonic() < deadline, status(process)
        assert process.process.poll() is None, process.end()[1]
        time.sleep(0.1)


def test_what_a_load_gave_while_the_store_was_down_is_there_once_it_is_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    credentials = tmp_path / "credentials"
    credentials.write_text(f"aws_access_key_id = {ACCESS_KEY}\naws_secret_access_key = {SECRET_KEY}\n")
    with Moto(tmp_path) as moto:
        monkeypatch.setenv("AWS_ENDPOINT_URL", moto.endpoint)
        archive = f"s3://{BUCKET}/prod"
        store = {"url": archive, "endpoint": moto.endpoint, "credentials_file": str(credentials), "timeout_s": 1}
        moto.stall()
        with Process(tmp_path, store) as process:
            process.say(0)
            process.wait_for_state("running")
            for sequence in range(4):
                process.block(sequence)
                until(process, lambda status, count=sequence + 1: status["batches"]["stored"] >= count)  # type: ignore[misc]
            until(process, lambda status: bool(status["store"]["uploads"]["trouble"]))
            process.process.send_signal(signal.SIGKILL)
            process.end()
        with Process(tmp_path, store) as process:
            process.say(0)
            process.wait_for_state("running")
            assert status(process)["store"]["uploads"]["spooled"] >= 4
            moto.go_on()
            process.block(4, final=True)
            process.say(5, final=True)
            returncode, log = process.end()
        assert returncode == 0, log
        entries = list_archive(archive)
        assert list(gaps(entries)) == []
        headers = [read_header(entry.open()) for entry in entries]
        assert sum(header.counts["statements"] for header in headers) == 25
        assert len({header.sequence for header in headers}) == len(headers)
        (last,) = last_headers(entries, pytest.fail)
        assert last.ledger["uploads"]["errors"].keys() <= {"unreachable"}
        spool = tmp_path / "state" / "aggregator" / "spool"
        assert len(list(spool.rglob("*.querytap"))) == 1  # the one sealed last
