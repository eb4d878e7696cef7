"""A job of a guest that runs some of our own tests, on the compiled build that is installed here."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from tests.support import builds, debian, processes
from tests.support.guests.machine import Job

SLOWNESS: Final = 8
"""How much slower a guest is than its host, roughly: its processor is emulated."""
_SITE: Final = "site"
_PROJECT: Final = "project"
LEFT_OUT: Final = ("mypy", "*mypyc*", "ast_serialize", "librt", "pip", "Cython", "setuptools", "ruff*")
"""What builds and checks, but does not run."""


REPORT: Final = "tests.xml"


def job(tests: Sequence[str], timeout_s: float, modules: Sequence[str] = ()) -> Job:
    """Runs *modules*, and then pytest with *tests*, as it names them on a command line.

    What a module prints comes back as NAME.out, what pytest found as `REPORT`.

    Raises UnavailableError where the compiled build is not installed.
    """
    if builds.under_test() != "compiled":
        raise debian.UnavailableError("a guest tests the compiled build, and this is another")
    lines = [
        f"cd /job/{_PROJECT}",
        f"export PYTHONPATH=/job/{_SITE} PYTHONSAFEPATH=1 QUERYTAP_HOTPATH=compiled QUERYTAP_TEST_SLOWNESS={SLOWNESS}",
        *(_module(name) for name in modules),
        f"python3 -m pytest -v --durations=10 --junit-xml=/out/{REPORT} {shlex.join(tests)}",
    ]
    root = processes.ROOT
    return Job(
        script="\n".join(lines),
        files={
            _SITE: processes.PACKAGES,
            f"{_PROJECT}/tests": root / "tests",
            f"{_PROJECT}/bench": root / "bench",
            f"{_PROJECT}/pyproject.toml": root / "pyproject.toml",
        },
        left_out=LEFT_OUT,
        timeout_s=timeout_s,
        memory_mib=3072,
    )


def _module(name: str) -> str:
    return f"echo '== {name}'; PYTHONPATH=$PYTHONPATH:. python3 -m {name} >/out/{name}.out"
