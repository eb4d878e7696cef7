"""`make demo`: records ten seconds of a real server's traffic, and checks the archive against the server's own log.

Everything runs in a network namespace of its own. What it leaves is the folder `demo`: the archive, its key, the
logs. Exit status 0 says that the archive and the log and the list of what was sent are the same.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))  # last, so that an installed build is not hidden

from bench import shapes  # noqa: E402
from tests.support import builds, processes, recording, records, sysbench  # noqa: E402
from tests.support.collector import Collector  # noqa: E402
from tests.support.folders import reachable_folder  # noqa: E402
from tests.support.namespaces import Namespace  # noqa: E402
from tests.support.recording import Senders  # noqa: E402
from tests.support.servers import MariaDB  # noqa: E402
from tests.support.statements import Statement  # noqa: E402

WORKERS = 2
CONNECTIONS = 40
RATE = 4000
SHOWN_A_SECOND = 5
SHAPES = 10
MOST_DELAY_S = 30
LISTS = "lists"


class Follower:
    """`querytap read --follow`: counts the statements that appear in the archive and prints some of them."""

    def __init__(self, collector: Collector, log: Path) -> None:
        self._log = log.open("wb")
        self._process = subprocess.Popen(
            processes.querytap("read", str(collector.archive), "--key", str(collector.key), "--follow"),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._log, env=processes.environment(),
        )  # fmt: skip
        self.count = 0
        self._to_show = 0
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def show_some(self) -> None:
        """Print the next few that appear."""
        self._to_show = SHOWN_A_SECOND

    def stop(self) -> None:
        """End it."""
        processes.stop(self._process, 10)
        self._thread.join(10)
        self._log.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self.count += 1
                if self._to_show > 0:
                    self._to_show -= 1
                    text = line.decode(errors="replace").rstrip("\n")
                    print("  " + (text if len(text) <= 150 else text[:147] + "..."), flush=True)


def main() -> int:
    """Run it all; the exit status."""
    parser = argparse.ArgumentParser(description="Record a real server's traffic and check what was recorded.")
    parser.add_argument("--seconds", type=int, default=10, help="how long the load lasts (default: %(default)s)")
    parser.add_argument("--folder", type=Path, default=ROOT / "demo", help="made anew (default: %(default)s)")
    arguments = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    folder: Path = arguments.folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    (folder / LISTS).mkdir(parents=True)
    return run(folder, arguments.seconds)


def run(folder: Path, seconds: int) -> int:
    """Record *seconds* of load into *folder* and report; the exit status."""
    say(f"a private MariaDB, its data in memory ({builds.under_test()} build of querytap)")
    with Namespace() as namespace, MariaDB(namespace) as server, reachable_folder() as run_folder:
        server.execute(*sysbench.TABLES)
        say(f"querytap on its port {server.port}, with {WORKERS} workers")
        with Collector(namespace, folder, server.port, workers=WORKERS, run_folder=run_folder) as collector:
            senders = load(namespace, server, collector, seconds)
            say("stopping: querytap brings what it has to the archive, then the server ends")
            exit_status = collector.stop()
        status = collector.status()
        server.stop()
        own = senders.sent()
        log = recording.logged(server, own)
        shutil.copyfile(server.general_log, folder / "general.log")
    return report(collector, exit_status, balanced=status["balanced"], accounts=(log, own), senders=senders)


def load(namespace: Namespace, server: MariaDB, collector: Collector, seconds: int) -> Senders:
    """Send for so many seconds, and show what is collected meanwhile."""
    lists = collector.folder / LISTS
    commands = [
        sysbench.command(
            server.port, lists, prepared=prepared, connections=CONNECTIONS // 2, statements=0,
            rate=RATE // 2, most_s=seconds,
        )
        for prepared in (False, True)
    ]  # fmt: skip
    say(
        f"{CONNECTIONS} connections for {seconds} s: SELECT, INSERT, UPDATE and DELETE of 50 to 281 bytes, "
        f"half of them prepared, {RATE}/s; some of what is collected:"
    )
    follower = Follower(collector, collector.folder / "follow.log")
    senders = Senders(namespace, lists, commands)
    try:
        begin = time.monotonic()
        while senders.running():
            follower.show_some()
            time.sleep(1)
            print(progress(time.monotonic() - begin, follower.count, collector), flush=True)
        senders.wait()
        while not follower.count and time.monotonic() - begin < seconds + MOST_DELAY_S:
            time.sleep(0.2)
    finally:
        senders.stop()
        follower.stop()
    return senders


def progress(seconds: float, read: int, collector: Collector) -> str:
    """One line: how far it is."""
    status = collector.status()
    ledger = status["ledger"].values()
    decoded = sum(worker["statements"]["decoded"] for worker in ledger)
    dropped = sum(worker["packets"]["dropped"] for worker in ledger)
    rate = status["rates"]["statements_per_s"]
    return f"-- {seconds:4.1f} s: {decoded} decoded, {rate:.0f}/s, {read} read back, {dropped} packets dropped"


def report(
    collector: Collector,
    exit_status: int,
    *,
    balanced: bool,
    accounts: tuple[list[Statement], list[Statement]],
    senders: Senders,
) -> int:
    """Show what came of it; the exit status of the demo."""
    log, own = accounts
    say("the ledger")
    ledger = processes.run(processes.querytap("read", str(collector.archive), "--ledger"))
    print(ledger.stdout.decode())
    print(f"sums {'hold' if balanced else 'DO NOT HOLD'}; querytap ended with {exit_status}")
    found = collector.records()
    say(f"the {SHAPES} heaviest statement shapes")
    print("\n".join(shapes.table(shapes.heaviest(found, SHAPES))))
    say("the sealed archive")
    print(f"it lies in {shown(collector.archive)}; to read it:")
    print(f"  {reading_command(collector)}")
    say("the archive beside the server's own log and the list of what was sent")
    print(f"sent: {recording.summary(senders, own)}")
    different = recording.disagreements(records.statements(found), log, own)
    print("\n".join(different) or f"no difference: all {len(own)} statements are the same in all three")
    return 0 if not different and balanced and exit_status == 0 else 1


def reading_command(collector: Collector) -> str:
    """What a person types to read the archive."""
    installed = Path(sys.executable).parent / "querytap"
    program = [shown(installed)] if installed.exists() else [sys.executable, "-m", "collector.cli"]
    return shlex.join([*program, "read", shown(collector.archive), "--key", shown(collector.key)])


def shown(path: Path) -> str:
    """*path* as one would type it here."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def say(text: str) -> None:
    """Print a headline."""
    print(f"\n== {text}", flush=True)


def _end(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
