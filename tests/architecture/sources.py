"""The sources that these tests look at."""

from __future__ import annotations

import ast
import functools
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
PRODUCT = ("collector", "workers")
ALL = (*PRODUCT, "bench", "packaging", "tests")


def modules(*folders: str) -> dict[str, Path]:
    """All modules below the folders, by dotted name."""
    return {_dotted(path): path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))}


@functools.cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def imports(name: str, path: Path) -> set[str]:
    """The dotted names of what a module imports, wherever in it: of `from a import b` both a and a.b."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join([*package.split(".")[: -(node.level - 1) or None]] if node.level else [])
            source = ".".join(filter(None, [base, node.module or ""]))
            found.add(source)
            found.update(f"{source}.{alias.name}" for alias in node.names)
    return found


def within(name: str, package: str) -> bool:
    """Whether *name* is *package* or something in it."""
    return name == package or name.startswith(package + ".")


def tracked_files() -> list[Path]:
    """The files under version control, or where there is none all that are not hidden or made by a build."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, check=False, env={"GIT_CONFIG_NOSYSTEM": "1"}
    )
    if listed.returncode == 0:
        found = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    else:
        found = [path for path in ROOT.rglob("*") if not _made(path.relative_to(ROOT))]
    return [path for path in found if path.is_file()]


def _made(path: Path) -> bool:
    return any(part.startswith(".") or part in {"build", "demo", "__pycache__"} for part in path.parts[:-1])


def _dotted(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
