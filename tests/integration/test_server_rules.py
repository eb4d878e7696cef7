"""The rules by which a server writes its general log, as tests/README.md lists them, hold for a real server.

querytap takes no part: what the tests compare it with is itself compared here.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.support import generallog, processes, statements, sysbench, workload
from tests.support.namespaces import Namespace
from tests.support.servers import MariaDB

pytestmark = pytest.mark.integration


def test_odd_statements_are_logged_as_the_rules_say(tmp_path: Path) -> None:
    own = tmp_path / "own"
    with Namespace() as namespace, MariaDB(namespace) as server:
        server.execute(*workload.TABLES)
        namespace.run(
            processes.module(
                "tests.support.workload", "--port", str(server.port), "--statements", "4000", "--rate", "100000",
                "--output", str(own),
            )
        )  # fmt: skip
        server.stop()
        log = server.general_log.read_bytes()
    sent = statements.load(own)
    assert len(sent) >= 4000
    known = [statement.text for statement in sent if generallog.looks_like_entries(statement.text)]
    assert known, "the load must have statements that look like entries of the log"
    found = generallog.network_statements(log, known)
    different = statements.differences("log", Counter(found), "own list", Counter(sent))
    assert not different, "\n".join(different)


@pytest.mark.parametrize("prepared", [False, True], ids=["text", "prepared"])
def test_what_sysbench_sends_is_logged_as_it_lists_it(tmp_path: Path, *, prepared: bool) -> None:
    with Namespace() as namespace, MariaDB(namespace) as server:
        server.execute(*sysbench.TABLES)
        namespace.run(
            sysbench.command(server.port, tmp_path, prepared=prepared, connections=8, statements=2000, rate=0)
        )
        server.stop()
        log = server.general_log.read_bytes()
    sent = sysbench.sent(tmp_path)
    assert len(sent) >= 2000
    assert all(50 <= len(each.text) <= 281 for each in sent if each.command in {"Query", "Execute"})
    found = generallog.network_statements(log)
    different = statements.differences("log", Counter(found), "own list", Counter(sent))
    assert not different, "\n".join(different)
