"""What the host and a server were doing goes into the archive beside the statements, and is read from there."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.support import patience, processes
from tests.support.collector import Collector
from tests.support.folders import reachable_folder
from tests.support.namespaces import Namespace
from tests.support.servers import PASSWORD, USER, MariaDB

pytestmark = [pytest.mark.integration, pytest.mark.either_build]

WAIT_S = patience.seconds(60)


def has_rates(sample: dict[str, Any]) -> bool:
    """Whether both sources were read twice."""
    return "questions_per_s" in sample.get("server_1", {}) and "cpu_user_percent" in sample.get("host", {})


def test_samples_of_host_and_server_are_in_the_archive() -> None:
    with reachable_folder() as folder, Namespace() as namespace, MariaDB(namespace) as server:
        server.folder.chmod(0o755)  # for its socket
        credentials = folder / "database.cnf"
        credentials.write_text(f"[client]\nuser = {USER}\npassword = {PASSWORD}\n")
        credentials.chmod(0o644)
        settings = (
            "monitor.interval_s=1", f'monitor.servers=["{server.socket}"]',
            f'monitor.credentials_file="{credentials}"',
        )  # fmt: skip
        with Collector(namespace, folder, server.port, settings=settings) as collector:
            deadline = time.monotonic() + WAIT_S
            while not has_rates(collector.status().get("host_sample", {})):
                assert time.monotonic() < deadline, collector.complaint()
                time.sleep(0.2)
            assert collector.stop() == 0, collector.complaint()
        command = processes.querytap("read", collector.place, "--key", str(collector.key), "--metrics")
        samples = [json.loads(line) for line in processes.run([*command, "--format", "json"]).stdout.splitlines()]
        assert samples == sorted(samples, key=lambda sample: sample["time"])
        with_rates = [sample for sample in samples if has_rates({**sample, "host": sample["system"]})]
        assert with_rates[-1]["server_1"]["address"] == str(server.socket)
        assert with_rates[-1]["server_1"]["up"] == 1
        assert with_rates[-1]["server_1"]["questions_per_s"] > 0, "its own questions are some"
        assert with_rates[-1]["querytap"]["processes"] >= 4
        text = processes.run([*command, "--since", "10m"]).stdout.decode()
        assert len(text.splitlines()) == len(samples)
        assert " | server_1: address=" in text
        verified = processes.run(processes.querytap("verify", collector.place, "--key", str(collector.key)))
        assert b"damaged" not in verified.stdout
