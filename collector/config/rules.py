"""What must hold between options; the bounds of each alone are in its declaration (`schema.py`)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Final

from collector.config.schema import Config


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """What must hold between options."""

    keys: tuple[str, ...]
    """The options it is about; a problem is reported at the first of them that was given."""
    text: str
    holds: Callable[[Config], bool]


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        ("workers.count", "capture.namespaces"),
        "there can be 64 workers, and each of capture.namespaces has workers.count",
        lambda config: config.worker_total <= 64,
    ),
    Rule(
        ("decode.max_flow_buffer_kib", "decode.max_buffer_mib"),
        "one connection (decode.max_flow_buffer_kib) must not hold more than all together (decode.max_buffer_mib)",
        lambda config: config.decode.max_flow_buffer_kib <= config.decode.max_buffer_mib * 1024,
    ),
    Rule(
        ("decode.max_statement_kib", "decode.max_buffer_mib"),
        "one statement (decode.max_statement_kib) must fit into what all connections hold (decode.max_buffer_mib)",
        lambda config: config.decode.max_statement_kib <= config.decode.max_buffer_mib * 1024,
    ),
    Rule(
        ("batch.block_age_ms", "batch.max_age_s"),
        "a block (batch.block_age_ms) must not get older than its batch (batch.max_age_s)",
        lambda config: config.batch.block_age_ms <= config.batch.max_age_s * 1000,
    ),
    Rule(
        ("store.local_max_mib", "batch.max_mib"),
        "the archive (store.local_max_mib) must have room for one batch (batch.max_mib)",
        lambda config: config.batch.max_mib <= config.store.local_max_mib,
    ),
    Rule(
        ("store.endpoint", "store.url"),
        "another server (store.endpoint) can be named for a store.url with s3:// or az://",
        lambda config: not config.store.endpoint or config.store.url.startswith(("s3://", "az://")),
    ),
    Rule(
        ("store.object_lock", "store.url"),
        "objects can be locked (store.object_lock) in a store.url with s3://",
        lambda config: config.store.object_lock == "off" or config.store.url.startswith("s3://"),
    ),
    Rule(
        ("monitor.tls_certificate", "monitor.tls_key"),
        "monitor.tls_certificate and monitor.tls_key belong together",
        lambda config: bool(config.monitor.tls_certificate) == bool(config.monitor.tls_key),
    ),
    Rule(
        ("paths.run", "paths.state"),
        "paths.run and paths.state must be different folders",
        lambda config: config.paths.run.rstrip("/") != config.paths.state.rstrip("/"),
    ),
)
