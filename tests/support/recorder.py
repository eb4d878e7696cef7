"""Writes the traffic of a port of the loopback to a capture file with libpcap, as `tcpdump -w` does.

tcpdump itself cannot run as the root of a user namespace: it insists on changing its user, which is refused there.
Run as a module inside the namespace. It says `listening` once it does; on SIGTERM it takes what is left, says how many
packets the kernel dropped, and ends.
"""

from __future__ import annotations

import argparse
import ctypes
import signal
import time
from pathlib import Path

from tests.support import processes
from tests.support.namespaces import Namespace

_BUFFER_BYTES = 256 << 20
_SNAP_BYTES = 262_144
_NANOSECONDS = 1
_POLL_S = 0.01
_QUIET_S = 0.5
"""How long nothing must have come at the end: the kernel hands over what it has within a fifth of that."""
_ERROR_BYTES = 256

LISTENING = "listening"


class _Program(ctypes.Structure):
    """struct bpf_program of pcap/bpf.h."""

    _fields_ = (("length", ctypes.c_uint), ("instructions", ctypes.c_void_p))


class _Statistics(ctypes.Structure):
    """struct pcap_stat of pcap/pcap.h."""

    _fields_ = (("received", ctypes.c_uint), ("dropped", ctypes.c_uint), ("dropped_by_interface", ctypes.c_uint))


class TrafficFile:
    """A process in *namespace* that records the port into *file*; it listens once the constructor returns."""

    def __init__(self, namespace: Namespace, file: Path, port: int) -> None:
        self._log = file.with_suffix(".log")
        command = processes.module("tests.support.recorder", "--file", str(file), "--port", str(port))
        self._process = namespace.start(command, self._log)
        deadline = time.monotonic() + 30
        while LISTENING not in self._said():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"no capture file is written: {self._said()}")
            time.sleep(0.02)

    def stop(self) -> None:
        """End it, the file complete. Raises AssertionError when packets were dropped: then it is no account."""
        status = processes.stop(self._process, 30)
        assert (status, " 0 dropped" in self._said()) == (0, True), self._said()

    def _said(self) -> str:
        return self._log.read_text(errors="replace")


class _Capture:
    """An open capture. Errors are RuntimeErrors with libpcap's words."""

    def __init__(self, port: int) -> None:
        self._pcap = ctypes.CDLL("libpcap.so.0.8")
        for name in ("pcap_create", "pcap_dump_open"):
            getattr(self._pcap, name).restype = ctypes.c_void_p
        self._pcap.pcap_geterr.restype = ctypes.c_char_p
        error = ctypes.create_string_buffer(_ERROR_BYTES)
        self._handle = ctypes.c_void_p(self._pcap.pcap_create(b"lo", error))
        self._pcap.pcap_set_snaplen(self._handle, _SNAP_BYTES)
        self._pcap.pcap_set_buffer_size(self._handle, _BUFFER_BYTES)
        self._pcap.pcap_set_timeout(self._handle, 100)
        self._pcap.pcap_set_tstamp_precision(self._handle, _NANOSECONDS)
        self._check(self._pcap.pcap_activate(self._handle))
        program = _Program()
        self._check(self._pcap.pcap_compile(self._handle, ctypes.byref(program), b"tcp port %d" % port, 1, 0xFFFFFFFF))
        self._check(self._pcap.pcap_setfilter(self._handle, ctypes.byref(program)))
        self._check(self._pcap.pcap_setnonblock(self._handle, 1, error))

    def write(self, file: Path) -> None:
        """Write packets until SIGTERM and until none is left."""
        ending: list[float] = []
        signal.signal(signal.SIGTERM, lambda _number, _frame: ending.append(time.monotonic()))
        dumper = ctypes.c_void_p(self._pcap.pcap_dump_open(self._handle, bytes(file)))
        if not dumper:
            self._check(-1)
        print(LISTENING, flush=True)
        quiet_since = time.monotonic()
        while not ending or time.monotonic() < max(quiet_since, ending[0]) + _QUIET_S:
            if self._check(self._pcap.pcap_dispatch(self._handle, -1, self._pcap.pcap_dump, dumper)):
                quiet_since = time.monotonic()
            else:
                time.sleep(_POLL_S)
        self._pcap.pcap_dump_close(dumper)

    def dropped(self) -> int:
        """Packets that passed the filter and found no room."""
        statistics = _Statistics()
        self._check(self._pcap.pcap_stats(self._handle, ctypes.byref(statistics)))
        dropped: int = statistics.dropped
        return dropped

    def _check(self, result: int) -> int:
        if result < 0:
            raise RuntimeError(self._pcap.pcap_geterr(self._handle).decode(errors="replace"))
        return result


def main() -> None:
    """Record as the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--file", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    arguments = parser.parse_args()
    capture = _Capture(arguments.port)
    capture.write(arguments.file)
    print(f"packets: {capture.dropped()} dropped")


if __name__ == "__main__":
    main()
