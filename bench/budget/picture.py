"""One picture of a run: time against load, CPU and level. Pure: figures in, SVG out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import Any, Final

_WIDTH: Final = 860
_LEFT: Final = 70
_RIGHT: Final = 20
_PANEL: Final = 120
_GAP: Final = 34
_COLOURS: Final = ("#1f6f8b", "#c0562f")

Point = tuple[float, float]


def draw(runs: Sequence[dict[str, Any]]) -> str:
    """The runs side by side, one below the other."""
    parts: list[str] = []
    top = 10.0
    for run in runs:
        parts.append(f'<text x="{_LEFT}" y="{top + 14}" font-weight="bold">{escape(_title(run))}</text>')
        top = _panels(parts, run, top + 30)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{top:.0f}" font-family="sans-serif"'
        f' font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _title(run: dict[str, Any]) -> str:
    return f"cap {run['cap_percent']:g} % of a core, {run['load']}, {run['rate']:g} statements/s asked for"


def _panels(parts: list[str], run: dict[str, Any], top: float) -> float:
    seconds = run["seconds"]
    names = run["levels"]
    last = max(one["at_s"] for one in seconds)

    def series(value: Callable[[dict[str, Any]], float]) -> list[Point]:
        return [(one["at_s"], value(one)) for one in seconds]

    whole, own = series(lambda one: one["own_percent"] + one["kernel_percent"]), series(lambda one: one["own_percent"])
    panels: list[tuple[str, list[list[Point]], float | None]] = [
        ("statements/s", [series(lambda one: one["sent"])], None),
        ("CPU %", [whole, own], run["cap_percent"]),
        ("level", [series(lambda one: names.index(one["level"]))], None),
    ]
    for name, lines, mark in panels:
        highest = max([1e-9, *(value for line in lines for _, value in line), *([mark] if mark else [])]) * 1.05
        parted = [(highest * part, _figure(highest * part)) for part in (0, 0.45, 0.9)]
        marks = list(enumerate(names)) if name == "level" else parted
        parts += _axes(name, top, last, [(mark / highest, label) for mark, label in marks if mark <= highest])
        for line, colour in zip(lines, _COLOURS, strict=False):
            points = " ".join(f"{_x(at, last):.1f},{top + _PANEL * (1 - value / highest):.1f}" for at, value in line)
            parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        if mark:
            y = top + _PANEL * (1 - mark / highest)
            parts.append(f'<path d="M{_LEFT},{y:.1f} H{_WIDTH - _RIGHT}" stroke="#888" stroke-dasharray="5 4"/>')
        top += _PANEL + _GAP
    parts.append(
        f'<text x="{_LEFT}" y="{top - 6}">seconds; CPU: all of it <tspan fill="{_COLOURS[0]}">with</tspan> and'
        f' <tspan fill="{_COLOURS[1]}">without</tspan> what the kernel spends (estimated); dashed: the cap</text>'
    )
    return top + 20


def _axes(name: str, top: float, last: float, marks: Sequence[tuple[float, str]]) -> Iterator[str]:
    """The frame of a panel; *marks* are heights from 0 to 1 with what they stand for."""
    bottom = top + _PANEL
    yield f'<path d="M{_LEFT},{top} V{bottom} H{_WIDTH - _RIGHT}" fill="none" stroke="#444"/>'
    yield f'<text x="6" y="{top - 4}">{escape(name)}</text>'
    for height, label in marks:
        y = bottom - _PANEL * height + 4
        yield f'<text x="{_LEFT - 6}" y="{y:.1f}" text-anchor="end" font-size="9">{escape(label)}</text>'
    for at in range(0, int(last) + 1, 10):
        yield f'<text x="{_x(at, last):.1f}" y="{bottom + 14}" text-anchor="middle" font-size="10">{at}</text>'


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == 0 else f"{value:.1f}"


def _x(at: float, last: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * at / last
