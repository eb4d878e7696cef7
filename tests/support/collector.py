"""Runs querytap beside a test's server, in a folder of the test's own, and reads what it collected."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from collector.archive.heads import BlockHead, read_head
from collector.archive.layout import KIND_BLOCKS, MAX_BODY_BYTES
from collector.archive.packing import unpack_stream
from collector.reading.archive import list_archive
from collector.reading.keys import load_private
from collector.reading.objects import open_object
from collector.supervisor.lifecycle import READY
from tests.support import patience, processes, records
from tests.support.namespaces import Namespace
from workers.settings import Responses

START_TIMEOUT_S = patience.seconds(60)
STOP_TIMEOUT_S = 60


class Archive:
    """What querytap wrote below *folder*, and in *run_folder* while it ran."""

    def __init__(self, folder: Path, run_folder: Path) -> None:
        self.folder = folder
        self._run = run_folder
        self.archive = folder / "state" / "archive"
        self.place = str(self.archive)
        """The archive as reading commands take it; the URL of a store where one is set."""
        self.key = folder / "state" / "keys" / "reader.key"
        self.log = folder / "querytap.log"

    def status(self) -> dict[str, Any]:
        """The status file, empty before there is one."""
        try:
            status: dict[str, Any] = json.loads((self._run / "aggregator" / "status.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        return status

    def records(self) -> list[dict[str, Any]]:
        """All records of the archive, as `querytap read` prints them."""
        command = processes.querytap("read", self.place, "--key", str(self.key), "--format", "json", "--raw")
        return records.parse(processes.run(command, 300).stdout)

    def blocks(self) -> Iterator[tuple[BlockHead, bytes]]:
        """The blocks of the archive as the workers packed them, with the worker's number and its counters."""
        keys = load_private(self.key)
        for entry in list_archive(self.place):
            with entry.open() as stream:
                for content in open_object(stream, keys).contents(_refuse):
                    if content.kind == KIND_BLOCKS:
                        for head, body in unpack_stream(content.data, bin_bytes=MAX_BODY_BYTES):
                            yield read_head(head, len(body)), body

    def complaint(self) -> str:
        """The end of what it wrote, for a message."""
        return self.log.read_text(errors="replace")[-8000:]


class Collector(Archive):
    """`querytap run` in *namespace*, capturing when the constructor returns; as a context manager it stops.

    *settings* are further ones, as `--set` takes them.
    *folder* is for what it writes; *run_folder* for what it holds only while it runs, if that is to be elsewhere: where
    *folder* is not open to the workers' user, or its path too long for a Unix socket.
    """

    def __init__(
        self,
        namespace: Namespace,
        folder: Path,
        port: int,
        *,
        workers: int = 1,
        run_folder: Path | None = None,
        responses: Responses = "first",
        x_ports: tuple[int, ...] = (),
        settings: Sequence[str] = (),
    ) -> None:
        super().__init__(folder, run_folder or folder / "run")
        self.config = folder / "querytap.toml"
        text = CONFIG.format(
            port=port,
            x_ports=list(x_ports),
            responses=responses,
            workers=workers,
            cpu_percent=patience.UNLIMITED_PERCENT,
            state=folder / "state",
            run=self._run,
        )
        self.config.write_text(text, encoding="utf-8")
        processes.run(processes.querytap("keygen", "--config", str(self.config)))
        more = [word for setting in (*patience.PROCESS, *settings) for word in ("--set", setting)]
        self._process = namespace.start(processes.querytap("run", "--config", str(self.config), *more), self.log)
        try:
            self._wait_for_capture()
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The supervisor."""
        return self._process

    def reload(self, text: str) -> None:
        """Have it read another configuration; returns when its log says that it has."""
        before = self.log.read_text(errors="replace").count(" run: reload: ")
        self.config.write_text(text, encoding="utf-8")
        self._process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + START_TIMEOUT_S
        while self.log.read_text(errors="replace").count(" run: reload: ") == before:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"querytap does not answer SIGHUP:\n{self.complaint()}")
            time.sleep(0.02)

    def processes(self) -> dict[str, Any]:
        """What the supervisor says of the processes."""
        found: dict[str, Any] = json.loads((self._run / "processes.json").read_text(encoding="utf-8"))
        return found

    def stop(self) -> int:
        """Stop it in order; its exit status."""
        return processes.stop(self._process, STOP_TIMEOUT_S)

    def replay(self, capture: Path, port: int, responses: Responses = "first") -> list[dict[str, Any]]:
        """The records of a capture file, as `querytap replay` prints them."""
        command = processes.querytap("replay", str(capture), "--port", str(port), "--format", "json", "--raw")
        command += ["--responses", responses]
        return records.parse(processes.run(command, 300).stdout)

    def _wait_for_capture(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while READY not in self.complaint() or self.status().get("state") != "running":
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"querytap does not start:\n{self.complaint()}")
            time.sleep(0.05)


def _refuse(problem: str) -> None:
    raise AssertionError(problem)


CONFIG = """\
[capture]
ports = [{port}]
x_ports = {x_ports}
responses = "{responses}"

[workers]
count = {workers}

[batch]
max_age_s = 1

[budget]
cpu_percent = {cpu_percent}

[paths]
state = "{state}"
run = "{run}"
"""
