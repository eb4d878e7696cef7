from __future__ import annotations

import json
import logging
import select
import socket
import threading
import urllib.request
from pathlib import Path

import pytest

from collector.config import Config, from_mapping
from collector.monitor.watching import Watching
from tests.unit.collector.cli.test_status import a_status

pytestmark = pytest.mark.either_build

SAMPLE = {"tree": {"cpu_percent": 1.5, "rss_bytes": 1000, "processes": 3}}
TIMEOUT_S = 30


def configured(folder: Path, listen: str) -> Config:
    return from_mapping({"monitor": {"listen": listen}, "paths": {"run": str(folder)}})


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_host_ledger_and_cost_are_on_one_page(tmp_path: Path) -> None:
    (tmp_path / "aggregator").mkdir()
    (tmp_path / "aggregator" / "status.json").write_text(json.dumps(a_status()))
    port = free_port()
    watching = Watching(configured(tmp_path, f"127.0.0.1:{port}"))
    watching.start()
    try:
        watching.post(SAMPLE)
        pages: list[str] = []

        def ask() -> None:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=TIMEOUT_S) as answer:
                pages.append(answer.read().decode())

        while not pages or "node_memory_MemTotal_bytes" not in pages[-1]:  # the first reading is made meanwhile
            thread = threading.Thread(target=ask)
            thread.start()
            assert select.select(watching.fds, [], [], TIMEOUT_S)[0]
            watching.turn()
            thread.join()
    finally:
        watching.close()
    assert 'querytap_statements_total{outcome="decoded",worker="0"} 5.0' in pages[-1]
    assert "querytap_cpu_percent 1.5" in pages[-1]


def test_an_address_that_is_taken_is_said_once_and_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        watching = Watching(configured(tmp_path, f"127.0.0.1:{holder.getsockname()[1]}"))
        with caplog.at_level(logging.INFO):
            watching.start()
            watching.post(SAMPLE)
            watching.post(SAMPLE)
            assert len([record for record in caplog.records if record.levelno == logging.ERROR]) == 1
            holder.close()
            watching.post(SAMPLE)
            assert "metrics are served at" in caplog.text
        watching.close()


def test_a_status_that_is_none_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "aggregator").mkdir()
    (tmp_path / "aggregator" / "status.json").write_text("{}")
    watching = Watching(configured(tmp_path, ""))
    watching.post(SAMPLE)
    assert b"querytap_processes 3.0" in watching.page("").body
    assert b"querytap_ledger_balanced" not in watching.page("").body
    watching.close()
