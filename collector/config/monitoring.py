"""The options of the monitor; `schema.py` has them with all the others."""

from __future__ import annotations

import dataclasses

from collector.config.option import absolute_path, between, empty_or, listen_address, option


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MonitorOptions:
    """What is measured of the host and of querytap itself, and where it is served: docs/monitoring.md."""

    interval_s: int = option(
        10,
        "Time between two readings of the host's and querytap's own CPU, memory, disks, network and the like.",
        unit="s",
        applies="reload",
        check=between(1, 3600),
    )
    slow_interval_s: int = option(
        60,
        "Time between two readings of what changes slowly: space and inodes of file systems.",
        unit="s",
        applies="reload",
        check=between(1, 86_400),
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
