"""querytap's own figures as metrics: its ledger, as the aggregator's status file has it, and what it costs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from collector.monitor.families import Family, Reading

CPU: Final = Family("querytap_cpu_percent", "gauge", "CPU use of all processes of querytap; 100 is one core.")
CPU_ALLOWED: Final = Family("querytap_budget_cpu_percent", "gauge", "The most they may use: budget.cpu_percent.")
RESIDENT: Final = Family("querytap_resident_memory_bytes", "gauge", "Memory of all processes of querytap in RAM.")
PROCESSES: Final = Family("querytap_processes", "gauge", "Processes of querytap.")

STATUS_TIME: Final = Family("querytap_status_time_seconds", "gauge", "When the ledger was told, as Unix time.")
RECORDING: Final = Family("querytap_recording", "gauge", "1: statements are recorded, as far as the ledger tells.")
BALANCED: Final = Family("querytap_ledger_balanced", "gauge", "1: the sums of the ledger hold.")

_WORKER: Final = ("worker",)
PASSED: Final = Family("querytap_packets_passed_total", "counter", "Packets that passed the filter.", _WORKER)
TAKEN: Final = Family(
    "querytap_packets_taken_total", "counter", "Of them, those taken from the ring, by what became of them.",
    ("worker", "outcome"),
)  # fmt: skip
DROPPED: Final = Family(
    "querytap_packets_dropped_total", "counter", "Of them, those the kernel dropped for want of room.", _WORKER
)
PACKETS_LOST: Final = Family("querytap_packets_lost_total", "counter", "Of them, those lost with a worker.", _WORKER)
IN_RING: Final = Family("querytap_packets_in_ring", "gauge", "Of them, those that wait in the ring.", _WORKER)
STATEMENTS: Final = Family(
    "querytap_statements_total", "counter", "Statements, by what became of them; decoded is all.", ("worker", "outcome")
)
HELD: Final = Family("querytap_statements_held", "gauge", "Statements on their way to the store.", _WORKER)
HIDDEN: Final = Family(
    "querytap_encrypted_connections_total", "counter", "Connections of which TLS hides the statements.", _WORKER
)
FREEZES: Final = Family("querytap_ring_freezes_total", "counter", "Times the ring was full.", _WORKER)
OBJECTS: Final = Family(
    "querytap_objects_total", "counter", "Objects of the archive, by what became of them.", ("outcome",)
)
WAITING: Final = Family("querytap_objects_waiting", "gauge", "Objects that wait for the store.")

_OUTCOMES: Final = ("decoded", "shipped", "filtered", "lost", "evicted")


def of_sample(sample: Mapping[str, Any]) -> Iterator[Reading]:
    """Of what the monitor measured of querytap's processes."""
    tree = sample["tree"]
    yield Reading(CPU, tree["cpu_percent"])
    yield Reading(RESIDENT, tree["rss_bytes"])
    yield Reading(PROCESSES, tree["processes"])


def of_status(status: Mapping[str, Any], told: float) -> Iterator[Reading]:
    """Of a status file that was written at *told* (Unix time). Raises KeyError, TypeError, AttributeError."""
    yield Reading(STATUS_TIME, told)
    yield Reading(RECORDING, status["state"] == "running")
    yield Reading(BALANCED, bool(status["balanced"]))
    yield Reading(CPU_ALLOWED, float(status["budget"]["cpu_percent"]))
    batches = status["batches"]
    yield Reading(WAITING, batches["waiting"])
    for outcome in ("stored", "discarded", "evicted"):
        yield Reading(OBJECTS, batches[outcome], (outcome,))
    for number, worker in status["ledger"].items():
        yield from _of_worker(str(number), worker)


def _of_worker(number: str, worker: Mapping[str, Any]) -> Iterator[Reading]:
    packets, statements = worker["packets"], worker["statements"]
    yield Reading(PASSED, packets["passed"], (number,))
    for outcome, count in packets["taken"].items():
        yield Reading(TAKEN, count, (number, outcome))
    yield Reading(DROPPED, packets["dropped"], (number,))
    yield Reading(PACKETS_LOST, packets["lost"], (number,))
    yield Reading(IN_RING, packets["in_ring"], (number,))
    for outcome in _OUTCOMES:
        yield Reading(STATEMENTS, statements[outcome], (number, outcome))
    yield Reading(HELD, statements["held"], (number,))
    yield Reading(HIDDEN, worker["encrypted"]["connections"], (number,))
    yield Reading(FREEZES, worker["ring_freezes"], (number,))
