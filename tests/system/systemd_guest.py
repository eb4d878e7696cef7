"""What runs in a guest with systemd: querytap's units beside a MariaDB at load, restarted and killed.

Run as a module by root, in a machine that is thrown away: it makes users, and units in /etc. It leaves all accounts.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.support import numbered, patience, processes
from tests.support.servers import INIT

UNITS: Final = ("querytap-capture", "querytap-aggregator", "querytap-monitor")
PORT: Final = 3306
CONNECTIONS: Final = 4
RESTARTS: Final = 3

_UNITS_FOLDER: Final = Path("/etc/systemd/system")
_STATE: Final = Path("/var/lib/querytap")
_STATUS: Final = Path("/run/querytap/aggregator/status.json")
_SERVER: Final = Path("/srv/mysql")
_PATIENCE_S: Final = patience.seconds(60)
_RING_MIB: Final = 256
_BLOCK_TIMEOUT_MS: Final = 1000
"""With the ring, minutes for which no process reads it, as long as one takes to start on an emulated processor."""
_ROUNDS: Final = patience.few(250)
_BETWEEN: Final = 100
"""Packets that are recorded between two disturbances."""


def run(*command: str) -> str:
    """Run a command to its end; its output."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


def wait_until(holds: Callable[[], bool], what: str) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + _PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)


def say(what: str) -> None:
    """Tell on the console how far it is."""
    print(f"{time.monotonic():.0f} s: {what}", flush=True)


def install() -> None:
    """As docs/systemd.md says."""
    packaging = processes.ROOT / "packaging" / "systemd"
    for unit in (*packaging.glob("*.service"), *packaging.glob("*.target")):
        shutil.copy(unit, _UNITS_FOLDER)
    Path("/etc/sysusers.d").mkdir(exist_ok=True)
    shutil.copy(packaging / "querytap.sysusers", "/etc/sysusers.d/querytap.conf")
    run("systemd-sysusers")
    command = Path("/usr/bin/querytap")
    command.write_text(
        f'#!/bin/sh\nPYTHONPATH={processes.PACKAGES} PYTHONSAFEPATH=1 exec /usr/bin/python3 -m collector.cli "$@"\n'
    )
    command.chmod(0o755)
    run("querytap", "keygen")
    (_STATE / "keys").chmod(0o755)
    Path("/etc/querytap").mkdir(exist_ok=True)
    Path("/etc/querytap/querytap.toml").write_text(
        f"[capture]\nring_mib = {_RING_MIB}\nblock_timeout_ms = {_BLOCK_TIMEOUT_MS}\n"
        f"[budget]\ncpu_percent = {patience.UNLIMITED_PERCENT}\n"
    )
    for name in UNITS:
        patient = _UNITS_FOLDER / f"{name}.service.d" / "patience.conf"
        patient.parent.mkdir()
        patient.write_text(
            f"[Service]\nTimeoutStartSec={patience.seconds(90)}\nTimeoutStopSec={patience.seconds(45)}\n"
            f"WatchdogSec={patience.seconds(60)}\n"
        )
    run("systemctl", "daemon-reload")


def start_server() -> None:
    """A MariaDB as a unit, with its general log on."""
    run("useradd", "--system", "--user-group", "mysql")
    _SERVER.mkdir(parents=True)
    (_SERVER / "init.sql").write_text(INIT)
    shutil.chown(_SERVER, "mysql", "mysql")
    data = f"--datadir={_SERVER}/data"
    run(
        "mariadb-install-db", "--no-defaults", data, "--auth-root-authentication-method=normal", "--skip-test-db",
        "--skip-name-resolve", "--innodb-log-file-size=8M", "--user=mysql", "--force",
    )  # fmt: skip
    run(
        "systemd-run", "--unit=mariadb", "--uid=mysql", "--gid=mysql", "/usr/sbin/mariadbd", "--no-defaults", data,
        f"--port={PORT}", f"--socket={_SERVER}/socket", f"--pid-file={_SERVER}/pid", "--general-log=1",
        f"--general-log-file={_SERVER}/general.log", "--log-output=FILE", f"--init-file={_SERVER}/init.sql",
        "--skip-name-resolve", "--innodb-log-file-size=8M", "--innodb-flush-log-at-trx-commit=0",
    )  # fmt: skip


def property_of(unit: str, name: str) -> str:
    """What systemd says of a unit."""
    return run("systemctl", "show", "--value", "-p", name, unit).strip()


def main_pid(unit: str) -> int:
    """The number of its main process."""
    return int(property_of(unit, "MainPID"))


def rights(unit: str) -> list[dict[str, str]]:
    """Of each of its processes, as the kernel has them."""
    group = property_of(unit, "ControlGroup")
    found = []
    for pid in Path(f"/sys/fs/cgroup{group}/cgroup.procs").read_text().split():
        text = Path(f"/proc/{pid}/status").read_text()
        wanted = ("Uid", "CapEff", "CapPrm", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp")
        found.append({name: re.findall(rf"^{name}:\s+(\S+)", text, re.MULTILINE)[0] for name in wanted})
    return found


def passed() -> int:
    """Packets that the ledger has; none while no aggregator has written it."""
    ledger = json.loads(_STATUS.read_text())["ledger"] if _STATUS.exists() else {}
    return sum(sum(worker["packets"]["taken"].values()) for worker in ledger.values())


def go_on() -> None:
    """Wait until some more is recorded."""
    before = passed()
    wait_until(lambda: passed() > before + _BETWEEN, "nothing more is recorded")


def disturb(found: dict[str, Any]) -> None:
    """Restart capture, then kill each of the main processes."""
    for _ in range(RESTARTS):
        run("systemctl", "restart", "querytap-capture")
        go_on()
        say("capture was restarted")
    found["restarts"] = json.loads(_STATUS.read_text())["ledger"]
    for unit in UNITS:
        before = main_pid(unit)
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: main_pid(unit) not in {0, before}, f"{unit} is not started again")  # noqa: B023
        wait_until(lambda: property_of(unit, "ActiveState") == "active", f"{unit} is not ready again")  # noqa: B023
        go_on()
        say(f"{unit} was killed and is back")


def main() -> None:
    """Do all of it, and leave the accounts in the folder."""
    parser = argparse.ArgumentParser()
    parser.add_argument("output", type=Path)
    out = parser.parse_args().output
    found: dict[str, Any] = {}
    install()
    # Before there is a server: capture waits for one.
    run("systemctl", "start", "querytap.target")
    wait_until(lambda: "until" in property_of("querytap-capture", "StatusText"), "capture does not wait for a server")
    found["waiting"] = property_of("querytap-capture", "StatusText")
    say(found["waiting"])
    start_server()
    say("the server starts")
    wait_until(lambda: "records port" in property_of("querytap-capture", "StatusText"), "capture does not record")
    found["status"] = property_of("querytap-capture", "StatusText")
    found["states"] = {unit: property_of(unit, "ActiveState") for unit in UNITS}
    found["rights"] = {unit: rights(unit) for unit in UNITS}
    found["kept"] = int(property_of("querytap-capture", "NFileDescriptorStore"))
    found["security"] = {
        unit: run("systemd-analyze", "security", "--no-pager", f"{unit}.service").splitlines()[-1] for unit in UNITS
    }
    say(json.dumps(found))
    listed = [out / name for name in "ab"]
    commands = [numbered.command("127.0.0.1", PORT, one.name, CONNECTIONS, one, rounds=_ROUNDS) for one in listed]
    senders = [subprocess.Popen(command, env=processes.environment()) for command in commands]
    go_on()
    disturb(found)
    for sender in senders:
        sender.terminate()
        assert sender.wait(_PATIENCE_S) == 0
    run("systemctl", "stop", "querytap.target")
    wait_until(lambda: all(property_of(unit, "ActiveState") == "inactive" for unit in UNITS), "it does not stop")
    run("systemctl", "stop", "mariadb")
    leave(out, found)


def leave(out: Path, found: dict[str, Any]) -> None:
    """Copy what is compared."""
    shutil.copytree(_STATE, out / "state")
    shutil.copy(_SERVER / "general.log", out)
    (out / "found.json").write_text(json.dumps(found))
    (out / "journal.log").write_text(run("journalctl", "--no-pager", "-o", "short-precise"))  # the kernel's lines too


if __name__ == "__main__":
    main()
