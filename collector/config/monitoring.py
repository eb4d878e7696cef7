"""The options of the monitor; `schema.py` has them with all the others."""

from __future__ import annotations

import dataclasses

from collector.config.option import (
    absolute_path,
    between,
    each,
    empty_or,
    listen_address,
    one_of,
    option,
    server_address,
)

MOST_SERVERS = 16


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MonitorOptions:
    """What is measured of servers, of the host and of querytap itself, and where it is served: docs/monitoring.md."""

    interval_s: int = option(
        10,
        "Time between two readings of what changes fast: status, threads, locks and replication of the servers; CPU, "
        "memory, disks and network of the host; what querytap costs.",
        unit="s",
        applies="reload",
        check=between(1, 3600),
    )
    slow_interval_s: int = option(
        60,
        "Time between two readings of what changes slowly: variables, binary logs and InnoDB's own counters of the "
        "servers; space and inodes of file systems.",
        unit="s",
        applies="reload",
        check=between(1, 86_400),
    )
    tables_interval_s: int = option(
        3600,
        "Time between two readings of the sizes of tables, which can take a server with many tables some work; 0: they "
        "are not read.",
        unit="s",
        applies="reload",
        check=between(0, 7 * 86_400),
    )
    servers: tuple[str, ...] = option(
        (),
        "Database servers whose figures are read, each as host:port or as the path of its Unix socket. Empty: none. "
        "`querytap grant` prints the account that this takes.",
        applies="restart",
        check=each(server_address(), most=MOST_SERVERS),
        example=("/run/mysqld/mysqld.sock", "127.0.0.1:3307"),
    )
    credentials_file: str = option(
        "",
        "Option file (as my.cnf) with user and password for these servers in its section [client], or in one that is "
        "named as a server is in monitor.servers. With ssl-ca the connection is by TLS. It is read at each poll. "
        "Empty: the user that the monitor runs as, without a password, whom a server may know by its Unix socket.",
        applies="reload",
        check=empty_or(absolute_path()),
        example="/etc/querytap/database.cnf",
    )
    listen: str = option(
        "127.0.0.1:9893",
        "Address and port at which metrics are served, at /metrics. Empty: they are not served.",
        applies="restart",
        check=empty_or(listen_address()),
    )
    token_file: str = option(
        "",
        "File with a token, on one line, that a request for metrics has to carry (Authorization: Bearer TOKEN). Empty: "
        "whoever can reach the address is answered.",
        applies="restart",
        check=empty_or(absolute_path()),
        example="/etc/querytap/metrics.token",
    )
    tls_certificate: str = option(
        "",
        "PEM file with the certificate, and those between it and its authority, with which metrics are served over "
        "TLS. Empty: they are served in clear.",
        applies="restart",
        check=empty_or(absolute_path()),
        example="/etc/querytap/metrics.pem",
    )
    tls_key: str = option(
        "",
        "PEM file with the private key of that certificate.",
        applies="restart",
        check=empty_or(absolute_path()),
        example="/etc/querytap/metrics.key",
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AlertsOptions:
    """What is told when something is wrong, and to whom: docs/alerts.md."""

    file: str = option(
        "",
        "File with rules, silences and notifiers, in TOML. Empty: the starting set alone, whose alerts are in the log "
        "and among the metrics.",
        applies="restart",
        check=empty_or(absolute_path()),
        example="/etc/querytap/alerts.toml",
    )
    starting_set: str = option(
        "on",
        "Whether the rules that querytap brings are in force; a rule of the same name in alerts.file takes the place "
        "of one of them.",
        applies="restart",
        check=one_of("on", "off"),
    )
    group_s: int = option(
        30,
        "Time for which a change waits for others, so that they are told together.",
        unit="s",
        applies="restart",
        check=between(0, 3600),
    )
    repeat_s: int = option(
        14_400,
        "Time after which alerts that are still there are told again.",
        unit="s",
        applies="restart",
        check=between(60, 604_800),
    )
