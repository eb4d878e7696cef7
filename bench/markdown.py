"""Puts results into docs/benchmarks.md: `python bench/markdown.py PIPELINE.json MICRO.json` replaces what it says.

Everything between the two marker lines of the document comes from here, so that no figure is ever typed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

DOCUMENT: Final = Path(__file__).parents[1] / "docs" / "benchmarks.md"
BEGIN: Final = "<!-- figures: written by bench/markdown.py -->"
END: Final = "<!-- end of figures -->"

_COLUMNS: Final = (
    "responses",
    "statements/s",
    "us",
    "least..most",
    "workers",
    "aggregator",
    "%",
    "tcpdump",
    "all",
    "found/sent",
    "MiB",
    "bytes",
)

_WAY_COLUMNS: Final = (
    "method",
    "block KiB",
    "timeout ms",
    "statements/s",
    "us",
    "least..most",
    "workers",
    "capture",
    "wake-ups/s",
    "dropped",
)


_STAGES: Final = {
    "headers": "ring, headers",
    "streams": "TCP streams",
    "mysql": "MySQL",
    "block": "block",
}


def replaced(document: str, figures: str) -> str:
    """*document* with *figures* between its markers. Raises ValueError where it has none."""
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the document lacks the line {BEGIN if not begin else END}")
    return f"{before}{BEGIN}\n\n{figures}\n\n{END}{after}"


def rendered(results: list[dict[str, Any]]) -> str:
    """The tables of all *results*, each under what it was measured with."""
    return "\n\n".join("\n".join(_table(one)) for one in results)


def _table(result: dict[str, Any]) -> Iterator[str]:
    if result["kind"] == "micro":
        return _micro(result)
    if result["kind"] == "idle":
        return _idle(result)
    return _methods(result) if any(one.get("way") for one in result["results"]) else _pipeline(result)


def _measured(result: dict[str, Any]) -> str:
    machine, versions = result["machine"], result["machine"]["versions"]
    modified = ", modified" if machine["modified"] else ""
    packages = ", ".join(f"{name} {version}" for name, version in versions.items())
    commit = f"`{machine['commit'][:12]}`{modified}"
    return (
        f"Measured {machine['time'][:10]} at commit {commit} on {machine['cores']} cores of {machine['cpu']}, "
        f"Linux {machine['kernel']}, Python {machine['python']}, {packages}."
    )


def _pipeline(result: dict[str, Any]) -> Iterator[str]:
    settings = result["settings"]
    beside = "alone" if settings["alone"] else "beside two tcpdumps"
    yield f"### The whole process tree, {settings['workers']} workers, {beside}"
    yield ""
    yield _measured(result)
    yield _windows(settings)
    yield (
        "CPU microseconds a statement (median; least to most); of it workers and aggregator; percent of one core; "
        "tcpdump with the same filter and with all packets; memory without rings; bytes a statement in the archive."
    )
    yield ""
    yield f"| {' | '.join(_COLUMNS)} |"
    yield f"|{'---|' * len(_COLUMNS)}"
    for one in result["results"]:
        whole, roles = one["querytap"], one["roles"]
        peers = [f"{one[name]['median']:.2f}" if name in one else "" for name in ("tcpdump", "tcpdump_all")]
        cells = [
            one["responses"],
            f"{one['rate']:,}",
            f"**{whole['median']:.2f}**",
            f"{whole['least']:.2f}..{whole['most']:.2f}",
            f"{roles.get('worker', 0.0):.2f}",
            f"{roles.get('aggregator', 0.0):.2f}",
            f"{one['cpu_percent']:.2f}",
            *peers,
            f"{one['found']:,}/{one['sent']:,}",
            f"{one['memory_mib']:.0f}",
            f"{one['archive_bytes_per_statement']:.1f}",
        ]
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield _doubts(result)


def _windows(settings: dict[str, Any]) -> str:
    return (
        f"{settings['connections']} connections, windows of {settings['seconds']:g} s, {settings['repeats']} repeats; "
        f"ring {settings['ring_mib']} MiB a worker; other settings: {', '.join(settings['set']) or 'the defaults'}."
    )


def _methods(result: dict[str, Any]) -> Iterator[str]:
    settings = result["settings"]
    yield f'### Ways of capture, {settings["workers"]} workers, `responses = "{", ".join(settings["responses"])}"`'
    yield ""
    yield _measured(result)
    yield _windows(settings)
    yield (
        "CPU microseconds a statement of the whole process tree (median; least to most); of it workers and capture; "
        "wake-ups a second of all its threads; packets that the kernel dropped."
    )
    yield ""
    yield f"| {' | '.join(_WAY_COLUMNS)} |"
    yield f"|{'---|' * len(_WAY_COLUMNS)}"
    for one in result["results"]:
        whole, roles = one["querytap"], one["roles"]
        blocks = ["", ""] if one["method"] == "ring-v2" else [str(one["block_kib"]), str(one["timeout_ms"])]
        cells = [
            one["method"],
            *blocks,
            f"{one['rate']:,}",
            f"**{whole['median']:.2f}**",
            f"{whole['least']:.2f}..{whole['most']:.2f}",
            f"{roles.get('worker', 0.0):.2f}",
            f"{roles.get('capture', 0.0):.2f}",
            f"{one['wake_ups_per_s']:.0f}",
            f"{one['packets_dropped']:,}",
        ]
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield _doubts(result)


def _doubts(result: dict[str, Any]) -> str:
    doubts = sorted({doubt for one in result["results"] for run in one["runs"] for doubt in run["doubts"]})
    return f"Doubts the runs themselves had: {'; '.join(doubts) or 'none'}."


def _micro(result: dict[str, Any]) -> Iterator[str]:
    yield "### The hot path alone"
    yield ""
    yield _measured(result)
    yield ""
    yield "| responses | packets a statement | ns | least..most | instructions | bytes in a block |"
    yield "|---|---|---|---|---|---|"
    for one in result["results"]:
        packets, size = one["packets_per_statement"], one["block_bytes_per_statement"]
        yield f"| {one['responses']} | {packets:.2f} | {_spread(one)} | {_counted(one)} | {size:.1f} |"
    if all("stages" in one for one in result["results"]):
        yield from _stages(result["results"])
        yield from _kinds(result["results"])


def _idle(result: dict[str, Any]) -> Iterator[str]:
    settings = result["settings"]
    yield f"### While nothing comes, {settings['workers']} workers"
    yield ""
    yield _measured(result)
    yield f"Over {settings['seconds']:g} s, percent of one core."
    yield ""
    yield "| process | % | wake-ups/s |"
    yield "|---|---|---|"
    for one in result["results"]:
        yield f"| {one['role']} | {one['cpu_percent']:.3f} | {one['wake_ups_per_s']:.1f} |"


def _stages(results: list[dict[str, Any]]) -> Iterator[str]:
    yield ""
    yield "| responses | stage | ns | instructions |"
    yield "|---|---|---|---|"
    for one in results:
        for part in one["stages"]:
            yield f"| {one['responses']} | {_STAGES[part['stage']]} | {part['cpu_ns']:.0f} | {_counted(part)} |"


def _kinds(results: list[dict[str, Any]]) -> Iterator[str]:
    yield ""
    settings = [f"{one['responses']}: ns | instructions" for one in results]
    yield f"| command | {' | '.join(settings)} |"
    yield f"|---|{'---|---|' * len(results)}"
    for row in zip(*(one["kinds"] for one in results), strict=True):
        cells = [f"{part['cpu_ns']:,.0f} | {_counted(part)}" for part in row]
        yield f"| {row[0]['command']} | {' | '.join(cells)} |"


def _spread(one: dict[str, Any]) -> str:
    return f"**{one['cpu_ns']:.0f}** | {one['cpu_ns_least']:.0f}..{one['cpu_ns_most']:.0f}"


def _counted(one: dict[str, Any]) -> str:
    return f"{one['instructions']:,.0f}" if one.get("instructions") is not None else ""


def main() -> int:
    """Write the figures of results into docs/benchmarks.md."""
    parser = argparse.ArgumentParser(prog="python bench/markdown.py", description=main.__doc__)
    parser.add_argument("results", type=Path, nargs="+")
    arguments = parser.parse_args()
    results = [json.loads(path.read_text(encoding="utf-8")) for path in arguments.results]
    document = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(replaced(document, rendered(results)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
