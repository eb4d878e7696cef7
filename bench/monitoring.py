"""What mode "monitor" costs at its default intervals: `make monitoring`. CPU time and memory of its process.

It watches this host and a private MariaDB without load, and its page is fetched as Prometheus would. Beside it, where
they are named, the exporters that give the same figures (`--beside`), each fetched at the same moments.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

if str(Path(__file__).parents[1]) not in sys.path:
    sys.path.append(str(Path(__file__).parents[1]))  # last: an installed build is not hidden by the sources beside us

from bench import machine
from bench.pipeline import cpu
from tests.support import exporters, processes
from tests.support.debian import UnavailableError
from tests.support.mysql97 import MySQL97
from tests.support.namespaces import Host
from tests.support.servers import PASSWORD, USER, MariaDB, free_port

SCRAPE_S: Final = 15.0
"""Between two fetches, as Prometheus has it in most configurations."""
_WARM_UP_S: Final = 30.0
_ACCEPT: Final = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"


@contextmanager
def monitoring(folder: Path, server: MariaDB | MySQL97) -> Iterator[tuple[int, str]]:
    """`querytap run` in mode "monitor" with defaults for the rest; its process and where its metrics are."""
    credentials = folder / "database.cnf"
    credentials.write_text(f"[client]\nuser = {USER}\npassword = {PASSWORD}\n", encoding="utf-8")
    credentials.chmod(0o644)
    address = f"127.0.0.1:{free_port()}"
    settings = (
        'capture.mode="monitor"', f'monitor.listen="{address}"', f'monitor.servers=["{server.socket}"]',
        f'monitor.credentials_file="{credentials}"',
    )  # fmt: skip
    words = [word for setting in settings for word in ("--set", setting)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            processes.querytap("run", "--config", os.devnull, *words),
            stdout=log,
            stderr=log,
            env=processes.environment(),
        )
    try:
        yield process.pid, f"http://{address}/metrics"
    finally:
        processes.stop(process, 10)


def fetch(urls: list[str]) -> list[int]:
    """Fetch each page; their sizes in bytes."""
    sizes = []
    for url in urls:
        request = urllib.request.Request(url, headers={"Accept": _ACCEPT})  # noqa: S310  # it is http
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            sizes.append(len(answer.read()))
    return sizes


def measure(seconds: float, folder: Path, *, beside: bool) -> list[dict[str, Any]]:
    """A row for each that is measured."""
    with ExitStack() as stack:
        server = stack.enter_context(MariaDB(Host()))
        server.folder.chmod(0o755)  # for its socket
        found = {"querytap": stack.enter_context(monitoring(folder, server))}
        if beside:
            found["mysqld_exporter"] = stack.enter_context(exporters.of_mysqld(folder, server.port, USER, PASSWORD))
            found["node_exporter"] = stack.enter_context(exporters.of_node())
        urls = [url for _, url in found.values()]
        time.sleep(_WARM_UP_S)
        sizes = fetch(urls)
        began, before = time.monotonic(), {name: cpu.snapshot(pid) for name, (pid, _) in found.items()}
        for _ in range(max(int(seconds / SCRAPE_S), 1)):
            time.sleep(SCRAPE_S)
            fetch(urls)
        elapsed = time.monotonic() - began
        spent = {name: cpu.spent(before[name], cpu.snapshot(pid)) for name, (pid, _) in found.items()}
        resident = {name: _resident_mib(pid) for name, (pid, _) in found.items()}
    if any(one.changed for one in spent.values()):
        raise machine.Refused("processes came or went meanwhile")
    return [
        {
            "what": name,
            "cpu_percent": round(100 * (one.user_s + one.system_s) / elapsed, 3),  # with threads that have ended
            "user_s": round(one.user_s, 2),
            "system_s": round(one.system_s, 2),
            "anonymous_mib": round(one.memory_mib, 1),
            "resident_mib": round(resident[name], 1),
            "page_bytes": size,
            "seconds": round(elapsed, 1),
        }
        for (name, one), size in zip(spent.items(), sizes, strict=True)
    ]


def _resident_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace").splitlines()
    return next((int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS:")), 0.0)


def main() -> int:
    """Measure what mode "monitor" costs."""
    parser = argparse.ArgumentParser(prog="make monitoring ARGS=...", description=main.__doc__)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--beside", action="store_true", help="and Debian's exporters of mysqld and of the host")
    parser.add_argument("--output", type=Path, help="file for the result (a new one in bench/results/)")
    arguments = parser.parse_args()
    try:
        machine.require_compiled()
        with tempfile.TemporaryDirectory(prefix="querytap-bench-") as name:
            folder = Path(name)
            folder.chmod(0o755)
            rows = measure(arguments.seconds, folder, beside=arguments.beside)
    except (machine.Refused, UnavailableError) as refusal:
        sys.stderr.write(f"bench: {refusal}\n")
        return 3
    path = machine.write("monitoring", {"scrape_s": SCRAPE_S, "load": os.getloadavg()}, rows, arguments.output)
    for row in rows:
        sys.stdout.write(
            f"{row['what']:16} {row['cpu_percent']:7.3f} % of a core, {row['user_s']:.2f} s user,"
            f" {row['system_s']:.2f} s system; {row['resident_mib']:.1f} MiB, {row['anonymous_mib']:.1f} of them its"
            f" own; {row['page_bytes']} bytes a page\n"
        )
    sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
