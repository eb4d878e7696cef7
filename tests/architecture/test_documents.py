"""What is written for people agrees with the code, and names nobody's machine."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from collector.cli.main import COMMANDS
from collector.config import reference
from collector.monitor import reference as metrics
from tests.architecture import sources
from tests.support import dashboards
from workers import counters

ROOT = sources.ROOT
HEADINGS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
README_LINES = 150

# In pieces, for this file is looked at too.
MACHINE = re.compile(
    "|".join(
        ("/work" + "/", "/ro" + "ot/", "/tmp/" + "venv", r"pypi\." + "org", "python" + "hosted", r"deb\." + "debian")
    )
)


def markdown() -> str:
    """All documents together."""
    paths = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "workers").glob("*.md")]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


@pytest.mark.parametrize("name", reference.generated())
def test_a_generated_file_is_what_the_options_say(name: str) -> None:
    written = (ROOT / name).read_text(encoding="utf-8")
    assert written == reference.generated()[name], "python -m collector.config.reference --write"


def test_the_reference_of_metrics_is_what_the_families_say() -> None:
    written = (ROOT / metrics.PATH).read_text(encoding="utf-8")
    assert written == metrics.document(), "python -m collector.monitor.reference --write"


def test_the_dashboard_is_what_its_panels_say_and_each_metric_in_it_is_declared() -> None:
    script = ROOT / "packaging" / "grafana" / "dashboard.py"
    assert subprocess.run([sys.executable, script, "--check"], check=False).returncode == 0, f"python {script}"
    patterns = [re.compile(re.escape(name).replace(r"\*", r"\w+")) for name in metrics.declared()]
    unknown = [name for name in dashboards.names() if not any(pattern.fullmatch(name) for pattern in patterns)]
    assert unknown == []
    assert len(dashboards.names()) > 50


@pytest.mark.parametrize("counter", counters.NAMES)
def test_a_counter_is_documented(counter: str) -> None:
    assert f"`{counter}`" in markdown()


@pytest.mark.parametrize("command", [command.name for command in COMMANDS])
def test_a_command_is_in_the_readme(command: str) -> None:
    assert f"querytap {command}" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_changelog_keeps_to_its_form() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# Changelog"
    versions = [line for line in lines if line.startswith("## ")]
    assert versions[0] == "## [Unreleased]"
    assert all(re.fullmatch(r"## \[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", line) for line in versions[1:])
    numbers = [tuple(map(int, re.findall(r"\d+", line)[:3])) for line in versions[1:]]
    assert numbers == sorted(numbers, reverse=True)
    for section in "\n".join(lines).split("\n## ")[1:]:
        found = re.findall(r"^### (.*)$", section, re.MULTILINE)
        assert found == [heading for heading in HEADINGS if heading in found]


def test_a_file_names_no_machine_and_no_registry() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in sources.tracked_files()
        if (match := MACHINE.search(path.read_text(encoding="utf-8", errors="replace")))
    ]
    assert found == []


@pytest.mark.parametrize("folder", ["collector", "workers", "tests", "bench", "packaging"])
def test_a_top_folder_has_a_readme_for_a_first_day(folder: str) -> None:
    readme = ROOT / folder / "README.md"
    assert 0 < len(readme.read_text(encoding="utf-8").splitlines()) <= README_LINES


def test_a_path_that_a_readme_names_exists() -> None:
    paths = [ROOT / "README.md", *(ROOT / folder / "README.md" for folder in sources.ALL)]
    missing = [
        f"{path.relative_to(ROOT)}: {name}" for path in paths for name in _files_named(path) if not _exists(path, name)
    ]
    assert missing == []


def _files_named(document: Path) -> list[str]:
    """The targets of relative links."""
    links = re.findall(r"\]\(([^)#]+)\)", document.read_text(encoding="utf-8"))
    return [link for link in links if "://" not in link]


def _exists(document: Path, name: str) -> bool:
    return (document.parent / name).exists()


def test_the_tests_that_a_document_names_exist() -> None:
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs" / "pitfalls.md").read_text(encoding="utf-8")))
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert named - set(re.findall(r"^def (test_\w+)", tests, re.MULTILINE)) == set()
    assert named
