"""The distribution's packages are installed only where a program is missing, and only by root."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import processes

pytestmark = [pytest.mark.integration, pytest.mark.either_build]

SCRIPT = processes.ROOT / "packaging" / "build" / "debian-packages"


def run(folder: Path, *purposes: str, user: int, python: str = "no-such-python") -> tuple[int, str, str]:
    """Run the script as if by *user*, with an apt-get that only notes what it is told; its status, errors, and that."""
    log = folder / "apt-get.log"
    stubs = folder / "stubs"
    stubs.mkdir()
    for name, text in (("apt-get", f'echo "$DEBIAN_FRONTEND: $*" >> {log}'), ("id", f"echo {user}")):
        (stubs / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (stubs / name).chmod(0o755)
    environment = {"PATH": f"{stubs}:{os.environ['PATH']}", "PYTHON": python}
    done = subprocess.run([SCRIPT, *purposes], env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr, log.read_text(encoding="utf-8") if log.exists() else ""


def test_root_gets_what_is_missing_after_an_update(tmp_path: Path) -> None:
    status, _, told = run(tmp_path, "build", user=0)
    assert status == 0
    update, install = told.splitlines()
    assert update.startswith("noninteractive: update")
    assert install.startswith("noninteractive: install")
    assert {"python3.11", "python3-venv", "python3-dev", "--no-install-recommends"} <= set(install.split())


def test_anyone_else_is_told_what_to_ask_for(tmp_path: Path) -> None:
    status, errors, told = run(tmp_path, "build", user=1000)
    assert status == 1
    assert "sudo apt-get install --no-install-recommends python3-dev python3-venv python3.11" in errors
    assert told == ""


@pytest.mark.parametrize("user", [0, 1000])
def test_where_every_program_is_there_nothing_happens(tmp_path: Path, user: int) -> None:
    assert run(tmp_path, "build", "server", user=user, python=sys.executable) == (0, "", "")


def test_a_purpose_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    status, errors, told = run(tmp_path, "sever", user=0)
    assert status == 2
    assert "sever" in errors
    assert told == ""
