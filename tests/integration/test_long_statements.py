"""Of a statement far beyond the limit on kept text the archive has the hash that the client computes."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.support import long_statements, processes
from tests.support.collector import Collector
from tests.support.folders import reachable_folder
from tests.support.namespaces import Namespace
from tests.support.servers import PASSWORD, USER, MariaDB

pytestmark = pytest.mark.integration

KEPT = 1 << 20


@pytest.fixture(scope="module")
def told() -> tuple[list[tuple[int, str]], list[dict[str, Any]]]:
    """Length and hash of each text that was sent, and the records of what is longer than the limit or plain."""
    limit = (f"decode.max_statement_kib={KEPT >> 10}",)
    with (
        reachable_folder() as folder,
        Namespace() as namespace,
        MariaDB(namespace, ("--max-allowed-packet=64M",)) as server,
        Collector(namespace, folder, server.port, settings=limit) as collector,
    ):
        sent = namespace.run(processes.module("tests.support.long_statements", "--port", str(server.port))).stdout
        compressed = _send_compressed(namespace, folder, server)
        assert collector.stop() == 0, collector.complaint()
        records = collector.records()
    lengths_and_hashes = [(int(length), digest) for length, digest in map(str.split, sent.decode().splitlines())]
    return [*lengths_and_hashes, compressed], records


def _send_compressed(namespace: Namespace, folder: Path, server: MariaDB) -> tuple[int, str]:
    """By a client that compresses; the semicolon it takes off."""
    text = long_statements.text(b"compressed")
    (folder / "statement.sql").write_bytes(text + b";\n")
    namespace.run(
        [
            "mariadb", "--no-defaults", "--compress", "--protocol=tcp", "--host=127.0.0.1", f"--port={server.port}",
            f"--user={USER}", f"--password={PASSWORD}", "--max-allowed-packet=64M", "--default-character-set=utf8mb4",
            "--execute", f"source {folder / 'statement.sql'}",
        ]
    )  # fmt: skip
    return len(text), sha256(text).hexdigest()


def test_the_hash_in_the_archive_is_the_clients(told: tuple[list[tuple[int, str]], list[dict[str, Any]]]) -> None:
    (queried, prepared, compressed), records = told
    long = [one for one in records if one.get("original_length", 0) > KEPT]
    assert [one["command"] for one in long] == ["query", *["stmt_prepare", "stmt_execute"] * 2, "query"]
    assert [(one["original_length"], one["sql_sha256"]) for one in long] == [queried, *[prepared] * 4, compressed]
    assert all(len(one["sql"].encode()) <= KEPT + 2 for one in long), "a character may be cut, and is then replaced"
    assert all(one["flags"] == ["truncated"] for one in long)


def test_a_statement_within_the_limit_has_none(told: tuple[list[tuple[int, str]], list[dict[str, Any]]]) -> None:
    (plain,) = [one for one in told[1] if one.get("sql") == "SELECT 1"]
    assert {"original_length", "sql_sha256"}.isdisjoint(plain)
