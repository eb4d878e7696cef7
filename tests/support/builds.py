"""Which build of the hot path Python finds: compiled, interpreted, or, after a build in place, a mixture."""

from __future__ import annotations

import importlib
import tomllib
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

ROOT = Path(__file__).parents[2]


def listed_modules() -> list[str]:
    """The modules that pyproject.toml lists to be compiled."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return [module["name"] for module in project["tool"]["setuptools"].get("ext-modules", [])]


def under_test() -> str:
    """`compiled` when every listed module is, `interpreted` when none is, else `mixed`."""
    files = [importlib.import_module(name).__file__ or "" for name in listed_modules()]
    compiled = [file.endswith(tuple(EXTENSION_SUFFIXES)) for file in files]
    if all(compiled) and compiled:
        return "compiled"
    return "mixed" if any(compiled) else "interpreted"


def where() -> str:
    """The folder that `workers` is imported from."""
    return str(Path(importlib.import_module("workers").__file__ or "").parent)
