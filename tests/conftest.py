"""Says which build is under test, and refuses to test another than QUERYTAP_HOTPATH names. Sums up."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))  # last: `tests` and `bench` are found here, an installed build is not hidden

from tests.support import builds  # noqa: E402

# A shell ignores SIGINT in what it starts in the background, and nohup SIGHUP, and so would all that a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# A slow machine is no fault of what is tested. The same commit gets the same verdict: what is new is looked for by
# `make explore`, and what it finds becomes a test of its own.
hypothesis.settings.register_profile("querytap", deadline=None, derandomize=True)
hypothesis.settings.register_profile("explore", deadline=None, print_blob=True)
hypothesis.settings.load_profile("querytap")


def pytest_configure() -> None:
    found = builds.under_test()
    wanted = os.environ.get("QUERYTAP_HOTPATH", found)
    if found != wanted:
        pytest.exit(f"QUERYTAP_HOTPATH={wanted}, but the modules that Python finds are {found}: {builds.where()}", 4)


def pytest_report_header() -> str:
    return f"querytap: {builds.under_test()} build, {builds.where()}"


_LINES = pytest.StashKey[list[str]]()


@pytest.fixture(autouse=True)
def _signal_mask() -> Iterator[None]:
    """What a command blocks that a test calls in this process is let through again after it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


@pytest.fixture(scope="session")
def report(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Adds a line to the summary of the run: a figure that is reported and never asserted, or what was not tested."""
    return request.config.stash.setdefault(_LINES, []).append


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let the process that sums up have the lines of this one."""
    if (to := getattr(session.config, "workeroutput", None)) is not None:
        to["lines"] = session.config.stash.get(_LINES, [])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:  # noqa: ANN401  # of types of xdist
    """Have one process run all that wants the host to itself, while others run the rest (pytest-xdist)."""
    from tests.support.sharing import HostToItself

    return HostToItself(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:  # noqa: ANN401  # xdist's WorkerController
    """Take the lines of a process that has ended."""
    node.config.stash.setdefault(_LINES, []).extend(getattr(node, "workeroutput", {}).get("lines", []))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    lines = config.stash.get(_LINES, [])
    if lines:
        terminalreporter.section("measured, not asserted")
        for line in lines:
            terminalreporter.line(line)
    if terminalreporter.verbosity < 0:  # there was no header then
        terminalreporter.line(pytest_report_header())
