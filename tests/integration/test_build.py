"""The build backend: what is listed is compiled or the build fails, and nothing is compiled in an interpreted build."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support import processes

pytestmark = [pytest.mark.integration, pytest.mark.either_build]

PROJECT = """\
[build-system]
requires = []
build-backend = "hotpath"
backend-path = ["."]

[project]
name = "small"
version = "1"

[tool.setuptools]
packages = ["small"]
cmdclass = { build_ext = "hotpath.BuildHotPath", bdist_wheel = "hotpath.HotPathWheel" }

[[tool.setuptools.ext-modules]]
name = "small.hot"
sources = ["small/hot.py"]
"""
HOT = """\
import cython

COMPILED: bool = cython.compiled


@cython.ccall
def increased(number: cython.int) -> cython.int:
    return number + 1
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one module to compile."""
    shutil.copy(processes.ROOT / "packaging" / "build" / "hotpath.py", tmp_path)
    (tmp_path / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "__init__.py").touch()
    (tmp_path / "small" / "hot.py").write_text(HOT, encoding="utf-8")
    return tmp_path


def build(project: Path, chosen: str | None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "QUERYTAP_HOTPATH"}
    if chosen is not None:
        environment["QUERYTAP_HOTPATH"] = chosen
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "-w",
        "dist",
        ".",
    ]
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)


def names_in_wheel(project: Path) -> list[str]:
    (wheel,) = (project / "dist").glob("*.whl")
    return zipfile.ZipFile(wheel).namelist()


@pytest.mark.parametrize("chosen", [None, "compiled"])
def test_a_listed_module_is_compiled_unless_told_otherwise(project: Path, chosen: str | None) -> None:
    done = build(project, chosen)
    assert done.returncode == 0, done.stdout + done.stderr
    names = names_in_wheel(project)
    assert any(name.startswith("small/hot.") and name.endswith(".so") for name in names)
    assert "small/hot.py" in names, "tracebacks show the source"
    assert not list((project / "small").glob("*.so")), "never in place"
    assert not list(project.rglob("hot.c"))


def test_nothing_is_compiled_in_an_interpreted_build(project: Path) -> None:
    done = build(project, "interpreted")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "small/hot.py" in names_in_wheel(project)
    assert not any(name.endswith(".so") for name in names_in_wheel(project))
    assert list((project / "dist").glob("*-none-any.whl"))


def test_a_listed_module_that_is_missing_fails_the_build(project: Path) -> None:
    (project / "small" / "hot.py").unlink()
    done = build(project, "compiled")
    assert done.returncode != 0
    assert "small/hot.py" in done.stdout + done.stderr
    assert not (project / "dist").exists() or not list((project / "dist").iterdir())


def test_a_module_that_does_not_compile_fails_the_build(project: Path) -> None:
    (project / "small" / "hot.py").write_text(
        HOT + "\n\ndef wrong() -> None:\n    return no_such_name\n", encoding="utf-8"
    )
    assert build(project, "compiled").returncode != 0


def test_a_build_that_nobody_knows_is_refused(project: Path) -> None:
    done = build(project, "complied")
    assert done.returncode != 0
    assert "QUERYTAP_HOTPATH=complied" in done.stdout + done.stderr


def test_an_installation_that_runs_from_the_sources_is_refused(project: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "--target",
        "t",
    ]
    done = subprocess.run([*command, "-e", "."], cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert not list(project.rglob("*.so"))
