"""The document's figures come from results, whole, and nothing else of it changes."""

from __future__ import annotations

from typing import Any

import pytest

from bench.markdown import BEGIN, END, rendered, replaced

MACHINE: dict[str, Any] = {
    "time": "2026-01-02T03:04:05+00:00",
    "commit": "0123456789abcdef",
    "modified": False,
    "cpu": "CPU",
    "cores": 2,
    "kernel": "6.1",
    "python": "3.11.2",
    "versions": {"Cython": "3.3.1"},
}


def test_figures_take_the_place_of_those_before_and_the_rest_stays() -> None:
    document = f"# Title\n{BEGIN}\nold\n{END}\nlast\n"
    assert replaced(document, "new") == f"# Title\n{BEGIN}\n\nnew\n\n{END}\nlast\n"
    assert replaced(replaced(document, "new"), "new") == replaced(document, "new")


@pytest.mark.parametrize("document", ["none at all", f"{BEGIN}\nno end", f"no begin\n{END}"])
def test_a_document_without_its_markers_is_refused(document: str) -> None:
    with pytest.raises(ValueError, match="lacks the line"):
        replaced(document, "new")


def test_a_pipeline_table_has_medians_spread_peers_and_the_doubts() -> None:
    spread = {"median": 2.0, "least": 1.9, "most": 2.25}
    one = {
        "responses": "none",
        "rate": 16000,
        "querytap": spread,
        "tcpdump": {"median": 0.4},
        "tcpdump_all": {"median": 0.8},
        "roles": {"worker": 1.0, "aggregator": 0.7},
        "cpu_percent": 3.2,
        "found": 480000,
        "sent": 480000,
        "memory_mib": 91.2,
        "archive_bytes_per_statement": 30.04,
        "runs": [{"doubts": ["3 packets dropped"]}],
    }
    settings = {
        "workers": 2,
        "alone": False,
        "connections": 40,
        "seconds": 20.0,
        "repeats": 3,
        "ring_mib": 64,
        "set": [],
    }
    text = rendered([{"kind": "pipeline", "machine": MACHINE, "settings": settings, "results": [one]}])
    row = "| none | 16,000 | **2.00** | 1.90..2.25 | 1.00 | 0.70 | 3.20 | 0.40 | 0.80 | 480,000/480,000 | 91 | 30.0 |"
    assert row in text.splitlines()
    assert "commit `0123456789ab` on 2 cores of CPU, Linux 6.1, Python 3.11.2, Cython 3.3.1." in text
    assert text.endswith("Doubts the runs themselves had: 3 packets dropped.")


def test_ways_of_capture_have_a_table_of_their_own() -> None:
    one = {
        "rate": 64000,
        "method": "socket",
        "block_kib": 256,
        "timeout_ms": 60,
        "way": "socket, 256 KiB, 60 ms",
        "querytap": {"median": 2.0, "least": 1.9, "most": 2.25},
        "roles": {"worker": 1.0, "capture": 0.6},
        "wake_ups_per_s": 123.4,
        "packets_dropped": 1234,
        "runs": [{"doubts": []}],
    }
    older = one | {"method": "ring-v2"}
    settings = {
        "workers": 2,
        "connections": 40,
        "seconds": 20.0,
        "repeats": 3,
        "ring_mib": 64,
        "set": [],
        "responses": ["none"],
    }
    result = {"kind": "pipeline", "machine": MACHINE, "settings": settings, "results": [one, older]}
    lines = rendered([result]).splitlines()
    assert "| socket | 256 | 60 | 64,000 | **2.00** | 1.90..2.25 | 1.00 | 0.60 | 123 | 1,234 |" in lines
    assert "| ring-v2 |  |  | 64,000 | **2.00** | 1.90..2.25 | 1.00 | 0.60 | 123 | 1,234 |" in lines
    assert lines[-1] == "Doubts the runs themselves had: none."


def test_a_micro_table_leaves_out_instructions_that_were_not_counted() -> None:
    one = {
        "responses": "first",
        "packets_per_statement": 2.01,
        "cpu_ns": 500.4,
        "cpu_ns_least": 490.0,
        "cpu_ns_most": 600.0,
        "block_bytes_per_statement": 160.0,
    }
    text = rendered([{"kind": "micro", "machine": MACHINE | {"modified": True}, "settings": {}, "results": [one]}])
    assert text.splitlines()[-1] == "| first | 2.01 | **500** | 490..600 |  | 160.0 |"
    assert "`0123456789ab`, modified on" in text


def test_stages_and_kinds_of_commands_have_a_table_each() -> None:
    figures = {"cpu_ns": 1500.4, "cpu_ns_least": 1490.0, "cpu_ns_most": 1600.0}
    one = {
        "responses": "first",
        "packets_per_statement": 2.0,
        "block_bytes_per_statement": 160.0,
        **figures,
        "stages": [{"stage": "streams", "cpu_ns": 90.4, "instructions": 700.0}],
        "kinds": [{"command": "COM_PING", **figures}],
    }
    lines = rendered([{"kind": "micro", "machine": MACHINE, "settings": {}, "results": [one, one]}]).splitlines()
    assert "| first | TCP streams | 90 | 700 |" in lines
    assert lines[-1] == "| COM_PING | 1,500 |  | 1,500 |  |"
