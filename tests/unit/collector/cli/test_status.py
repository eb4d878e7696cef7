from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from collector.cli import status


def a_status(age_s: float = 0.0, **changes: Any) -> dict[str, Any]:  # noqa: ANN401  # JSON
    time = dt.datetime.now(dt.UTC) - dt.timedelta(seconds=age_s)
    worker = {
        "packets": {"passed": 12, "dropped": 1, "taken": {"used": 9, "empty": 2}, "lost": 0, "held": 0, "in_ring": 0},
        "statements": {"decoded": 5, "shipped": 3, "filtered": 0, "lost": 0, "evicted": 0, "held": 2},
        "crashes": 0,
        "encrypted": {"connections": 0, "bytes": 0, "answer_bytes": 0},
        "ring_freezes": 2,
        "interfaces": {"lo": {"in": 7, "out": 0}, "eth0": {"in": 1, "out": 3}},
        "faults": [],
    }
    found = {
        "time": time.isoformat(),
        "began": (time - dt.timedelta(hours=3)).isoformat(),
        "moments": {},
        "state": "running",
        "instance": "ab12",
        "host": "db1",
        "ledger": {"0": worker},
        "balanced": True,
        "rates": {"statements_per_s": 4.0, "packets_per_s": 9.0},
        "batches": {"stored": 7, "waiting": 0, "discarded": 0, "evicted": 0},
        "store": {"place": "/srv/archive", "trouble": None},
        "budget": {
            "cpu_percent": 10.0, "own_percent": 1.5, "kernel_percent": 0.5, "calibrated": True, "level": "full",
            "since_ns": 0, "why": "",
        },
        "warnings": ["the key is here"],
    }
    return {**found, **changes}


PROCESSES = {
    "capture": ["method ring: the first choice", "fanout hash"],
    "ports": [3306, 3307],
    "interfaces": [],
    "restarts": {"aggregator": 2, "capture": 0},
    "users": {"aggregator": "nobody", "workers": "root"},
    "kept_user": ["workers"],
    "sealed_by": "seccomp",
    "unsealed_by": ["Landlock"],
}


def place_of(folder: Path) -> Path:
    """Where the aggregator writes its status, in a folder that is there."""
    place = folder / "aggregator" / "status.json"
    place.parent.mkdir(exist_ok=True)
    return place


def text(status_file: dict[str, Any], age_s: float = 0.0) -> str:
    return "\n".join(status.lines(status_file, PROCESSES, age_s))


def test_it_says_where_it_listens_what_it_counted_and_what_to_mind() -> None:
    shown = text(a_status())
    assert "recording" in shown
    assert "port 3306, 3307 on all interfaces" in shown
    assert "capture    method ring: the first choice\ncapture    fanout hash\n" in shown
    assert "aggregator 2" in shown
    assert "capture 0" not in shown
    assert "1.5 % of a core, and 0.5 % in the kernel (calibrated); 10.0 % allowed" in shown
    assert "passed 12, dropped 1, taken 11, lost 0" in shown
    assert "decoded 5, shipped 3" in shown
    assert "interfaces: lo 7 in 0 out, eth0 1 in 3 out" in shown
    assert "ring full: 2 times" in shown
    assert 'workers: no user of its own is within reach here; runs as "root"' in shown
    assert "sandbox    seccomp" in shown
    assert "note       this kernel has not Landlock: a worker that is taken over" in shown


RELOADED = {"time": "2026-01-02T03:04:05+00:00", "applied": True, "changed": [], "waiting": [], "problems": []}


@pytest.mark.parametrize(
    ("reload", "lines"),
    [
        (None, []),
        (RELOADED, ["reload     2026-01-02T03:04:05+00:00: nothing to change"]),
        (
            {**RELOADED, "changed": ["a.b from 1 to 2", "c.d from 3 to 4"], "waiting": ["e.f", "g.h"]},
            [
                "reload     2026-01-02T03:04:05+00:00: a.b from 1 to 2; c.d from 3 to 4",
                "           after a restart: e.f, g.h",
            ],
        ),
        (
            {**RELOADED, "applied": False, "problems": ["file:3: one", "file:4: two"]},
            [
                "reload     2026-01-02T03:04:05+00:00: REFUSED, the settings from before go on:",
                "           file:3: one",
                "           file:4: two",
            ],
        ),
    ],
)
def test_it_says_when_the_configuration_was_last_read_again_and_what_came_of_it(
    reload: dict[str, Any] | None, lines: list[str]
) -> None:
    shown = list(status.lines(a_status(), {**PROCESSES, "reload": reload}, 0.0))
    begins = next((at for at, line in enumerate(shown) if line.startswith("reload ")), len(shown))
    assert shown[begins : begins + len(lines)] == lines
    assert any(line.startswith("reload ") for line in shown) == bool(lines)


def test_a_file_with_problems_does_not_hide_what_runs_by_the_one_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place_of(tmp_path).write_text(json.dumps(a_status()))
    settings = [f'paths.run="{tmp_path}"', "workers.count=0"]
    assert status.run(argparse.Namespace(config=None, set=settings, json=False)) == 0
    out, err = capsys.readouterr()
    assert "recording" in out
    assert err == "querytap: --set: workers.count = 0: must be between 1 and 64\n"


def test_what_could_not_be_seen_for_tls_is_told_where_there_is_some() -> None:
    found = a_status()
    assert "TLS" not in text(found)
    found["ledger"]["0"]["encrypted"] = {"connections": 2, "bytes": 345, "answer_bytes": 6789}
    assert "not seen for TLS: connections 2, bytes 345, answer_bytes 6789" in text(found)


def test_a_fault_of_the_ledger_stands_out() -> None:
    found = a_status()
    found["ledger"]["0"]["faults"] = ["2 packets were left in the ring"]
    shown = text(found)
    assert "DOES NOT ADD UP: 2 packets were left in the ring" in shown


def test_a_status_that_is_not_renewed_is_not_taken_for_recording() -> None:
    assert "NOT ANSWERING for 60 s" in text(a_status(), 60.0)


@pytest.mark.parametrize(
    ("changes", "code"),
    [({}, 0), ({"age_s": 60}, 1), ({"state": "stopped"}, 1), ({"balanced": False}, 1), (None, 1)],
)
def test_the_exit_code_tells_whether_all_is_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, Any] | None, code: int
) -> None:
    if changes is not None:
        place_of(tmp_path).write_text(json.dumps(a_status(**changes)))
    arguments = argparse.Namespace(config=None, set=[f'paths.run="{tmp_path}"'], json=False)
    assert status.run(arguments) == code
    if changes is None:
        assert "not running" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("warnings", "begins"),
    [
        ([], ["verdict    healthy: it records, and nothing was dropped"]),
        (["the key is here"], ["verdict    1 thing to see to:", "WARNING    the key is here"]),
        (["one", "two"], ["verdict    2 things to see to:", "WARNING    one", "WARNING    two"]),
    ],
)
def test_it_begins_with_the_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], warnings: list[str], begins: list[str]
) -> None:
    place_of(tmp_path).write_text(json.dumps(a_status(warnings=warnings)))
    status.run(argparse.Namespace(config=None, set=[f'paths.run="{tmp_path}"'], json=False))
    shown = capsys.readouterr().out.splitlines()
    for line, begin in zip(shown, begins, strict=False):
        assert line.startswith(begin)
    assert shown[len(begins)].startswith("state      recording")


def test_as_json_it_has_all_of_both_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place_of(tmp_path).write_text(json.dumps(a_status()))
    (tmp_path / "processes.json").write_text(json.dumps(PROCESSES))
    arguments = argparse.Namespace(config=None, set=[f'paths.run="{tmp_path}"'], json=True)
    assert status.run(arguments) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["recording"] is True
    assert shown["processes"] == PROCESSES
    assert shown["findings"] == ["the key is here"]
    assert shown["ledger"]["0"]["statements"]["decoded"] == 5


@pytest.mark.parametrize("content", ["", "[]", "{", "{}", '{"time": 1}', "[" * 100_000])
def test_a_status_that_makes_no_sense_is_a_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    place_of(tmp_path).write_text(content)
    assert status.run(argparse.Namespace(config=None, set=[f'paths.run="{tmp_path}"'], json=False)) == 1
    assert str(place_of(tmp_path)) in capsys.readouterr().err


def test_a_file_of_processes_that_makes_no_sense_is_named_and_hides_no_ledger(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place_of(tmp_path).write_text(json.dumps(a_status()))
    (tmp_path / "processes.json").write_text('{"ports": 1}')
    assert status.run(argparse.Namespace(config=None, set=[f'paths.run="{tmp_path}"'], json=False)) == 1
    out, err = capsys.readouterr()
    assert "decoded 5, shipped 3" in out
    assert f"{tmp_path}/processes.json cannot be read" in err
    assert "status.json" not in err


def test_a_status_that_is_a_link_or_a_pipe_is_not_followed_nor_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "elsewhere").write_text(json.dumps(a_status()))
    arguments = argparse.Namespace(config=None, set=[f'paths.run="{tmp_path}"'], json=True)
    place_of(tmp_path).symlink_to(tmp_path / "elsewhere")
    assert status.run(arguments) == 1
    place_of(tmp_path).unlink()
    os.mkfifo(place_of(tmp_path))
    assert status.run(arguments) == 1
    assert "ab12" not in capsys.readouterr().out


def test_what_could_command_a_terminal_is_shown_as_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place_of(tmp_path).write_text(json.dumps(a_status(warnings=["\x1b]0;gone\x07\nrecording"])))
    status.run(argparse.Namespace(config=None, set=[f'paths.run="{tmp_path}"'], json=False))
    assert "WARNING    \\x1b]0;gone\\x07\\x0arecording\n" in capsys.readouterr().out


def test_one_user_for_workers_and_aggregator_is_told() -> None:
    shown = "\n".join(status.lines(a_status(), {**PROCESSES, "one_user": True}, 0.0))
    assert "note       workers and aggregator are one user" in shown
    assert "one user" not in text(a_status())


def test_of_a_remote_store_what_it_has_what_waits_and_what_failed_is_printed() -> None:
    uploads: dict[str, Any] = {"uploaded": 9, "were_there": 2, "uploaded_bytes": 700}
    uploads |= {"spooled": 3, "spooled_bytes": 210, "oldest_ns": None, "errors": {}}
    plain = a_status(store={"place": "s3://bucket", "trouble": "", "uploads": uploads})
    lines = list(status.lines(plain, {}, 0.0))
    assert "uploaded   9 objects, 2 of them were there; 700 bytes sent" in lines
    assert "spooled    3 objects, 210 bytes" in lines
    late_ns = int((dt.datetime.fromisoformat(plain["time"]).timestamp() - 90) * 1e9)
    uploads |= {"oldest_ns": late_ns, "errors": {"busy": 4, "denied": 1}}
    lines = list(status.lines(plain, {}, 0.0))
    assert "spooled    3 objects, 210 bytes, the oldest of 90 s ago" in lines
    assert "           failed: busy 4, denied 1" in lines


def test_in_mode_monitor_it_says_whether_metrics_are_served(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        settings = ['capture.mode="monitor"', f'monitor.listen="{address}"']
        assert status.run(argparse.Namespace(config=None, set=settings, json=False)) == 0
        assert f"metrics    are served at {address}" in capsys.readouterr().out
    assert status.run(argparse.Namespace(config=None, set=settings, json=False)) == 1
    assert "not running" in capsys.readouterr().out
    settings[1] = 'monitor.listen=""'
    assert status.run(argparse.Namespace(config=None, set=settings, json=False)) == 0
