"""Prints what pyproject.toml requires to build, run and test, one requirement a line, for `pip install -r`."""

from __future__ import annotations

import tomllib
from pathlib import Path


def requirements(project: Path) -> list[str]:
    """The build requirements, the dependencies and the `dev` extra of the project file."""
    table = tomllib.loads(project.read_text(encoding="utf-8"))
    metadata = table["project"]
    listed: list[str] = [
        *table["build-system"]["requires"],
        *metadata["dependencies"],
        *metadata["optional-dependencies"]["dev"],
    ]
    return list(dict.fromkeys(listed))


if __name__ == "__main__":
    print("\n".join(requirements(Path(__file__).parents[2] / "pyproject.toml")))
