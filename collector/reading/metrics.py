"""The monitor's samples in an archive: what the host and its servers were doing while the statements came."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from collector.archive.layout import KIND_METRICS, ObjectError
from collector.archive.packing import unpack_stream
from collector.reading.archive import Entry
from collector.reading.lines import printable, rfc3339
from collector.reading.objects import Content, SealedObject, open_object
from collector.reading.scan import Report, Wanted

FORMAT: Final = 1
_BESIDE_NS: Final = 120_000_000_000
"""How far a sample may be outside the time span of the statements beside it: no batch gets older than a minute."""

Sample = Mapping[str, Any]


def samples(entries: Iterable[Entry], wanted: Wanted, report: Report) -> Iterator[Sample]:
    """Those within the times that are searched, an object's after another's, with `time` and the `host` they are of.

    What cannot be read is reported.
    """
    for entry in entries:
        if _may_hold(entry, wanted):
            yield from _of_entry(entry, wanted, report)


def render(sample: Sample) -> str:
    """A sample as a line of text: the host's figures, then each server's."""
    parts = [f"{sample['time']} {printable(str(sample['host']))}"]
    for name, figures in sample.items():
        if isinstance(figures, Mapping):
            listed = " ".join(f"{printable(str(figure))}={_shown(value)}" for figure, value in figures.items())
            parts.append(f"{printable(name)}: {listed}")
    return " | ".join(parts)


def _of_entry(entry: Entry, wanted: Wanted, report: Report) -> Iterator[Sample]:
    def told(problem: str) -> None:
        report(f"{entry.path}: {problem}")

    try:
        with entry.open() as stream:
            sealed = open_object(stream, wanted.keys)
            if wanted.takes(sealed.header):
                yield from _of_object(sealed, wanted, told)
    except ObjectError as error:
        told(str(error))
    except OSError as error:
        told(error.strerror or str(error))


def _may_hold(entry: Entry, wanted: Wanted) -> bool:
    since, until = wanted.search.since_ns, wanted.search.until_ns
    wider = (None if since is None else since - _BESIDE_NS, None if until is None else until + _BESIDE_NS)
    return entry.within(*wider) and entry.may_be_of(wanted.instances)


def _of_object(sealed: SealedObject, wanted: Wanted, report: Report) -> Iterator[Sample]:
    search = wanted.search
    for content in sealed.contents(report):
        if content.kind != KIND_METRICS:
            continue
        for found in _unpacked(content, report):
            time_ns = found.get("time_ns")
            if not isinstance(time_ns, int):
                continue  # the first value, which says the format
            if (search.since_ns or 0) <= time_ns and (search.until_ns is None or time_ns < search.until_ns):
                yield _told(found, time_ns, sealed.header.host)


def _told(found: Mapping[str, Any], time_ns: int, host: str) -> Sample:
    more = {name: value for name, value in found.items() if isinstance(value, Mapping) and name not in {"host", "tree"}}
    return {
        "time": rfc3339(time_ns),
        "host": host,
        "system": found.get("host", {}),
        **more,
        "querytap": found.get("tree", {}),
    }


def _unpacked(content: Content, report: Report) -> Iterator[Mapping[str, Any]]:
    try:
        for value in unpack_stream(content.data, bin_bytes=0):
            if isinstance(value, dict):
                yield value
            else:
                report(f"frame {content.frame} holds something that is not a sample")
    except ValueError as error:
        report(f"frame {content.frame} does not hold samples: {error}")


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}" if abs(value) < 1e5 else f"{value:.0f}"
    return printable(str(value))
