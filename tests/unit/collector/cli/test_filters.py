from __future__ import annotations

import pytest

from collector.capture import connection
from collector.capture import filter as packet_filter
from collector.capture.filter import Selection
from collector.cli.main import main

PORT = 1
"""On which nobody listens, so that the server is taken to be elsewhere."""


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(["filters", "--set", f"capture.ports=[{PORT}]", "--set", "capture.keep_percent=25", *arguments]) == 0
    return capsys.readouterr().out.splitlines()


def test_both_programs_are_printed_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys)
    assert lines[0] == "# filter: port 1, servers elsewhere; bytes of the packet that are captured"
    programs = len(packet_filter.build(Selection(ports=(PORT,), keep=0.25))) + len(connection.spread())
    assert len(lines) == 2 + programs
    assert lines[1] == "l000: ldh proto"


def test_both_programs_are_printed_as_the_kernel_takes_them(capsys: pytest.CaptureFixture[str]) -> None:
    numbers = [tuple(map(int, line.split())) for line in shown(capsys, "--numbers") if line[0] != "#"]
    expected = [*packet_filter.build(Selection(ports=(PORT,), keep=0.25)), *connection.spread()]
    assert numbers == [tuple(one) for one in expected]


def test_an_interface_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["filters", "--set", f"capture.ports=[{PORT}]", "--set", 'capture.interfaces=["nosuch0"]']) == 3
    assert "no interface nosuch0 here" in capsys.readouterr().err
