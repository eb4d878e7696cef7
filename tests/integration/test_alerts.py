"""What goes wrong with a real server is alerted on, and told to be over when it is."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support import patience, processes
from tests.support.folders import reachable_folder
from tests.support.listeners import http_listener
from tests.support.namespaces import Namespace
from tests.support.servers import PASSWORD, USER, MariaDB, free_port

pytestmark = [pytest.mark.integration, pytest.mark.either_build]

WAIT_S = patience.seconds(60)
RULES = """
[[rule]]
name = "server-down"
metric = "mysql_up"
below = 1
severity = "critical"
text = "{server} does not answer"

[[rule]]
name = "lock-pile-up"
metric = "querytap_mysql_lock_blocked"
above = 1
text = "{value:.0f} wait for {connection_id}"
"""

Got = list[dict[str, Any]]


@contextmanager
def watched(folder: Path, server: MariaDB, url: str) -> Iterator[None]:
    """`querytap run` in mode "monitor", which tells *url* of alerts at once."""
    server.folder.chmod(0o755)  # for its socket
    files = {
        "database.cnf": f"[client]\nuser = {USER}\npassword = {PASSWORD}\n",
        "alerts.toml": f'{RULES}\n[[notifier]]\nkind = "webhook"\nurl = "{url}"\n',
        "querytap.toml": (
            f'[capture]\nmode = "monitor"\n[monitor]\ninterval_s = 1\nlisten = ""\nservers = ["{server.socket}"]\n'
            f'credentials_file = "{folder}/database.cnf"\n[alerts]\nfile = "{folder}/alerts.toml"\ngroup_s = 0\n'
            f'starting_set = "off"\n[paths]\nstate = "{folder}/state"\nrun = "{folder}/run"\n'
        ),
    }
    for name, text in files.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o644)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            processes.querytap("run", "--config", str(folder / "querytap.toml")),
            stdout=log,
            stderr=log,
            env={**processes.environment(), "NO_PROXY": "127.0.0.1"},
        )
    try:
        yield
    finally:
        processes.stop(process, 30)


def wait_until(true: Callable[[], bool], log: Path) -> None:
    deadline = time.monotonic() + WAIT_S
    while not true():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)


def told(got: Got, state: str) -> list[str]:
    return [f"{alert['rule']}: {alert['text']}" for notice in got for alert in notice[state]]


def test_a_killed_server_and_a_lock_pile_up_are_alerted_on_and_then_resolved() -> None:
    with (
        reachable_folder() as folder,
        Namespace() as namespace,
        MariaDB(namespace) as server,
        http_listener() as (url, got),
        watched(folder, server, url),
    ):
        log = folder / "log"
        wait_until(lambda: "answers: version" in log.read_text(), log)
        server.execute("CREATE TABLE stock (id INT PRIMARY KEY) ENGINE = InnoDB", "INSERT INTO stock VALUES (1)")
        holder = server.connect()
        holder.begin()
        holder.cursor().execute("DELETE FROM stock WHERE id = 1")
        waiting = [threading.Thread(target=server.execute, args=("DELETE FROM stock WHERE id = 1",)) for _ in range(2)]
        for thread in waiting:
            thread.start()
        wait_until(lambda: any(text.startswith("lock-pile-up: 2 wait for ") for text in told(got, "firing")), log)
        holder.rollback()
        for thread in waiting:
            thread.join()
        wait_until(lambda: any(text.startswith("lock-pile-up") for text in told(got, "resolved")), log)
        holder.close()

        os.kill(int((server.folder / "pid").read_text()), signal.SIGKILL)
        down = f"server-down: {server.socket} does not answer"
        wait_until(lambda: down in told(got, "firing"), log)
        assert down not in told(got, "resolved")
        server.stop()  # what is left of it is buried
        server.start_again(namespace, free_port())
        wait_until(lambda: down in told(got, "resolved"), log)
    assert told(got, "firing").count(down) == 1
