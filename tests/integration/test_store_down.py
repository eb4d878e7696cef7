"""The aggregator beside a store that is down while a load runs, and then up."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from collector.reading.archive import gaps, list_archive
from collector.reading.ledgers import last_headers
from collector.reading.objects import read_header
from tests.support import gaps as statement_gaps
from tests.support.loaded import Loaded, ledger_of
from tests.support.objectstores import ACCESS_KEY, BUCKET, SECRET_KEY, Moto, environment
from tests.unit.collector.aggregator.test_process import Process

pytestmark = [pytest.mark.integration, pytest.mark.either_build]

WAIT_S = 60
OBJECTS = 4
"""That wait when the store comes up."""


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


def test_a_real_load_while_the_store_was_down_is_there_once_and_was_sent_once(
    tmp_path: Path, report: Callable[[str], None]
) -> None:
    with ExitStack() as stack:
        moto = stack.enter_context(Moto(tmp_path))
        loaded = Loaded(stack)
        way = loaded.settle_remotely(moto)
        way.trouble = "refused"
        units = loaded.units

        def come_up_and_drain() -> None:
            assert moto.names() == []
            way.trouble = ""
            units.wait_until(lambda: units.status()["store"]["uploads"]["spooled"] == 0)

        units.start()
        with loaded.sending(then=come_up_and_drain):
            units.wait_until(lambda: units.status()["store"]["uploads"]["spooled"] >= OBJECTS)
        ledger, account = ledger_of(units), statement_gaps.recorded(units)
        sent = len(loaded.sent) + loaded.logins()
        stored = sum(head.statements for head, _ in units.blocks())
        bytes_needed = sum(moto.sizes().values())
        report(f"store down at load: {sent} statements, {bytes_needed} bytes in the store, {way.sent_bytes} bytes sent")
        assert sum(one["statements"]["shipped"] for one in ledger.values()) == stored == sent
        assert account.invented == []
        numbers = {name: [one.number for one in line] for name, line in account.found.items()}
        assert numbers == {name: list(range(count)) for name, count in statement_gaps.logged(loaded.log).items()}
        assert way.sent_bytes == bytes_needed == units.status()["store"]["uploads"]["uploaded_bytes"]
        assert way.hurt > 0


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
