"""The last ledger of each instance of an archive, and how it is printed. Needs no key: headers are in clear."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from collector.archive.layout import Header, ObjectError
from collector.reading.archive import Entry
from collector.reading.lines import printable, rfc3339
from collector.reading.objects import read_header
from collector.reading.scan import Report
from collector.reading.shedding import budget_lines


def last_headers(entries: Sequence[Entry], report: Report, instances: frozenset[str] = frozenset()) -> list[Header]:
    """The newest readable header of each instance, or of those named, by sequence; the rest is reported."""
    return [newest for newest, _ in newest_headers(entries, report, instances, most=1)]


def newest_headers(
    entries: Sequence[Entry], report: Report, instances: frozenset[str] = frozenset(), most: int = 2
) -> list[tuple[Header, Header | None]]:
    """The two newest readable headers of each instance, or of those named; what is not readable is reported.

    Looks at no more than it must: by their names, the newest come first.
    """
    found: dict[str, list[Header]] = {}
    for entry in sorted(entries, key=_sequence, reverse=True):
        named = None if entry.name is None else entry.name.instance
        if not entry.may_be_of(instances) or (named is not None and len(found.get(named, ())) >= most):
            continue
        try:
            with entry.open() as stream:
                header = read_header(stream)
        except ObjectError as error:
            report(f"{entry.path}: {error}")
        except OSError as error:
            report(f"{entry.path}: {error.strerror or error}")
        else:
            if not instances or header.instance in instances:
                found.setdefault(header.instance, []).append(header)
    pairs = []
    for _, headers in sorted(found.items()):
        headers.sort(key=lambda header: header.sequence, reverse=True)
        pairs.append((headers[0], headers[1] if len(headers) > 1 else None))
    return pairs


def render_ledger(header: Header) -> Iterator[str]:
    """The ledger of a header as lines of text."""
    ledger = header.ledger
    kind = "final ledger" if ledger.get("final") else "ledger"
    host = printable(header.host)
    yield f"{kind} of {host} (instance {header.instance}), object {header.sequence}, {rfc3339(header.sealed_ns)}"
    workers = ledger.get("workers")
    for number, worker in sorted(workers.items()) if isinstance(workers, Mapping) else ():
        if isinstance(worker, Mapping):
            yield from _worker_lines(_text(number), worker)
    yield from budget_lines(ledger)
    rest = {name: value for name, value in ledger.items() if isinstance(value, int) and not isinstance(value, bool)}
    yield "  " + ", ".join(f"{printable(name)} {value}" for name, value in rest.items())


def ledger_record(header: Header) -> dict[str, Any]:
    """The ledger of a header as a JSON-able map."""
    return {
        "host": header.host,
        "instance": header.instance,
        "sequence": header.sequence,
        "sealed": rfc3339(header.sealed_ns),
        "clock": dict(header.clock),
        "ledger": dict(header.ledger),
    }


def _sequence(entry: Entry) -> int:
    return -1 if entry.name is None else entry.name.sequence


def _worker_lines(number: str, worker: Mapping[str, Any]) -> Iterator[str]:
    packets = worker.get("packets")
    statements = worker.get("statements")
    if isinstance(packets, Mapping):
        taken = packets.get("taken")
        kinds = [(name, value) for name, value in taken.items() if value] if isinstance(taken, Mapping) else []
        terms = [("dropped by the kernel", packets.get("dropped")), *kinds]
        terms += [
            (name, packets.get(key)) for name, key in (("lost", "lost"), ("held", "held"), ("in ring", "in_ring"))
        ]
        yield f"  worker {number}: packets passed {_text(packets.get('passed'))} = {_sum(terms)}"
    if isinstance(statements, Mapping):
        terms = [(name, statements.get(name)) for name in ("shipped", "filtered", "lost", "evicted", "held")]
        yield f"  worker {number}: statements decoded {_text(statements.get('decoded'))} = {_sum(terms)}"
    encrypted = worker.get("encrypted")
    if isinstance(encrypted, Mapping) and encrypted.get("connections"):
        names = (("connections", "connections"), ("bytes", "bytes of clients"), ("answer_bytes", "bytes of servers"))
        counts = ", ".join(f"{_text(encrypted.get(key))} {name}" for key, name in names)
        yield f"  worker {number}: not seen for TLS: {counts}"
    interfaces = worker.get("interfaces")
    if isinstance(interfaces, Mapping) and interfaces:
        parts = [
            f"{_text(name)} {_text(counts.get('in'))} in {_text(counts.get('out'))} out"
            for name, counts in interfaces.items()
            if isinstance(counts, Mapping)
        ]
        yield f"  worker {number}: packets by interface: {', '.join(parts)}"
    if worker.get("crashes"):
        yield f"  worker {number}: {_text(worker['crashes'])} of its processes ended without having been told to"
    if worker.get("captures_lost"):
        yield (
            f"  worker {number}: {_text(worker['captures_lost'])} capture processes ended without their last figures:"
            " what passed in the second before is in no sum"
        )
    faults = worker.get("faults")
    for fault in faults if isinstance(faults, list) else ():
        yield f"  worker {number}: does not balance: {_text(fault)}"


def _sum(terms: Iterable[tuple[object, object]]) -> str:
    return " + ".join(f"{_text(name)} {_text(value)}" for name, value in terms)


def _text(value: object) -> str:
    """As text that is safe to print: a header is signed, but by anyone."""
    return printable(str(value))
