"""Prints how many tests of a JUnit report passed and how many did not: `passed failed`. Skipped ones are neither."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree as ET


def counts(report: Path) -> tuple[int, int]:
    """The numbers of tests that passed, and of failures and errors."""
    passed = failed = 0
    for suite in ET.parse(report).iter("testsuite"):  # noqa: S314  # written by our own test run
        total, skipped = int(suite.get("tests", 0)), int(suite.get("skipped", 0))
        bad = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        passed += total - skipped - bad
        failed += bad
    return passed, failed


if __name__ == "__main__":
    print(*counts(Path(sys.argv[1])))
