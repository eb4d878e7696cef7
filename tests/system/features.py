"""What is tried with each client on each server: the rows of the matrix."""

from __future__ import annotations

from typing import Final

FEATURES: Final = {
    "text": "text protocol",
    "prepared": "statements prepared on the server, parameters of all types that the client binds",
    "zlib": "compression by zlib",
    "zstd": "compression by zstd",
    "connection_attributes": "connection attributes",
    "query_attributes": "query attributes",
    "change_user": "change of user",
    "reset_connection": "reset of the connection",
    "local_infile": "LOAD DATA LOCAL INFILE",
    "multi_statements": "several statements in one",
    "procedures": "procedures with several results",
    "cursors": "cursors on the server and fetches",
    "big": "a statement of 20 MiB",
    "utf8mb4": "text in utf8mb4",
    "latin1": "text in latin1",
    "gbk": "text in gbk",
    "pipelining": "statements sent before the answers to those before them",
    "bulk": "executions in bulk",
    "failures": "statements that fail",
    "failed_login": "logins that fail",
    "use_database": "change of the database, by USE and by its own command",
    "tls": "TLS: of the statements that the server logged none is seen, of connections and bytes each is counted",
}
"""The name of each, and what it is in words."""
