"""What a result has to say about where it was measured, and the refusal to measure the interpreted build."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from tests.support import builds

ROOT: Final = Path(__file__).parents[1]
RESULTS: Final = ROOT / "bench" / "results"
_PACKAGES: Final = ("Cython", "cryptography", "msgpack", "obstore", "psutil", "pyzmq", "zstandard")


class Refused(Exception):  # noqa: N818  # not an error of the program
    """Nothing can be measured here; the text says why and what to do."""


def require_compiled() -> None:
    """Raise Refused unless every hot module that Python finds is compiled."""
    found = builds.under_test()
    if found != "compiled":
        raise Refused(
            f"the build in {builds.where()} is {found}: its figures would say nothing. "
            "`make bench` and `make micro` measure the compiled one"
        )


def describe() -> dict[str, Any]:
    """Machine, kernel, versions and commit."""
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _git("rev-parse", "HEAD"),
        "modified": bool(_git("status", "--porcelain", "--untracked-files=no")),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "build": builds.where(),
        "versions": {name: _version(name) for name in _PACKAGES},
    }


def write(kind: str, settings: dict[str, Any], results: list[dict[str, Any]], path: Path | None) -> Path:
    """Write a result to *path*, or to a file of its own in bench/results/; where it is comes back."""
    machine = describe()
    if path is None:
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"{kind}-{machine['time'].replace(':', '')[:17]}-{str(machine['commit'])[:8]}.json"
    whole = {"format": 1, "kind": kind, "machine": machine, "settings": settings, "results": results}
    path.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    return path


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
