"""A module has one subject: its size, and whether its tests are where one looks for them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.architecture import sources

MOST_LINES = 600
MOST_FUNCTION_LINES = 40


@pytest.mark.parametrize("folder", sources.ALL)
def test_no_module_is_longer_than_the_ceiling(folder: str) -> None:
    lengths = {
        name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in sources.modules(folder).items()
    }
    assert {name: length for name, length in lengths.items() if length > MOST_LINES} == {}


@pytest.mark.parametrize("folder", sources.PRODUCT)
def test_no_function_is_longer_than_a_screen(folder: str) -> None:
    long = {
        f"{name}.{function.name}": length
        for name, path in sources.modules(folder).items()
        for function in ast.walk(sources.tree(path))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := _lines_of_code(function)) > MOST_FUNCTION_LINES
    }
    assert long == {}


def test_unit_tests_mirror_the_sources() -> None:
    unit = sources.ROOT / "tests" / "unit"
    lost = [str(path.relative_to(unit)) for path in unit.rglob("test_*.py") if not _has_source(path.relative_to(unit))]
    assert lost == [], "each is named after no module: test_ring.py, or test_ring_something.py, tests ring.py"


def test_every_module_says_what_it_is() -> None:
    silent = [
        name
        for name, path in sources.modules(*sources.PRODUCT, "bench", "packaging").items()
        if path.stat().st_size and not ast.get_docstring(sources.tree(path))
    ]
    assert silent == []


def _lines_of_code(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Its lines without its docstring."""
    body = function.body[1:] if ast.get_docstring(function) and len(function.body) > 1 else function.body
    end = function.end_lineno or function.lineno
    return end - body[0].lineno + 1 + (function.body[0].lineno - function.lineno)


def _has_source(test: Path) -> bool:
    words = test.stem.removeprefix("test_").split("_")
    names = ["_".join(words[:count]) for count in range(len(words), 0, -1)]
    folder = sources.ROOT / test.parent
    return any((folder / f"{name}.py").exists() or (folder / name).is_dir() for name in names)
