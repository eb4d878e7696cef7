"""Writes readings as text: OpenMetrics, or the older format of Prometheus, whichever the reader asks for. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from prometheus_client import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector, CollectorRegistry

from collector.monitor.families import Reading


class Page(NamedTuple):
    """What is answered."""

    content_type: str
    body: bytes


def page(readings: Iterable[Reading], accept: str) -> Page:
    """The text for one who has sent this `Accept` header (empty: the older format)."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Gathered(_families(readings)))
    encode, content_type = choose_encoder(accept)
    return Page(content_type, encode(registry))


class _Gathered(Collector):
    def __init__(self, metrics: Mapping[str, Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        yield from self._metrics.values()

    def describe(self) -> Iterator[Metric]:
        return iter(())


def _families(readings: Iterable[Reading]) -> dict[str, Metric]:
    """All readings of a family together, as the formats want them; two of one name and labels are one."""
    found: dict[str, Metric] = {}
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for reading in readings:
        name, family = reading.name, reading.family
        if (name, reading.labels) in seen:
            continue
        seen.add((name, reading.labels))
        metric = found.get(name)
        if metric is None:
            base = name.removesuffix("_total") if family.kind == "counter" else name
            metric = found[name] = Metric(base, family.help, family.kind)
        metric.add_sample(name, dict(zip(family.labels, reading.labels, strict=True)), reading.value)
    return found
