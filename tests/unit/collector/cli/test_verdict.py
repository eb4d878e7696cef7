from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from collector.cli.verdict import findings, headline

NOW = dt.datetime(2026, 1, 2, 12, 0, 0, tzinfo=dt.UTC)


def ago(**span: float) -> str:
    return (NOW - dt.timedelta(**span)).isoformat()


def a_status(**changes: Any) -> dict[str, Any]:  # noqa: ANN401  # JSON
    worker = {
        "packets": {"passed": 12}, "statements": {"decoded": 5}, "encrypted": {"connections": 0},
    }  # fmt: skip
    found: dict[str, Any] = {
        "time": ago(seconds=1), "began": ago(hours=5), "state": "running", "balanced": True, "moments": {},
        "ledger": {"0": worker}, "store": {"trouble": "", "trouble_since": "", "full": False}, "warnings": [],
        "batches": {"discarded_ns": [], "evicted_ns": []},
    }  # fmt: skip
    return {**found, **changes}


def with_worker(**changes: Any) -> dict[str, Any]:  # noqa: ANN401  # JSON
    found = a_status()
    found["ledger"]["0"] |= changes
    return found


def grew(name: str, count: int, last: str) -> dict[str, Any]:
    return a_status(moments={name: {"first": ago(hours=2), "last": last, "grown": count}})


def test_a_host_on_which_nothing_is_wrong_is_healthy() -> None:
    assert findings(a_status(), {}, NOW) == []
    assert headline([]).startswith("healthy")
    assert headline(["one"]) == "1 thing to see to:"
    assert headline(["one", "two"]) == "2 things to see to:"


@pytest.mark.parametrize(
    ("name", "says", "remedy"),
    [
        ("dropped", "the kernel dropped packets, 120 since 2026-01-02T10:00:00+00:00, last at", "capture.ring_mib"),
        ("lost", "statements were lost, 120 since", "the log"),
        ("crashes", "workers ended and were started again, 120 since", "the log"),
        ("discarded", "objects were given up, 120 since", "the log"),
        ("evicted", "the archive is full and its oldest objects are removed, 120 since", "store.local_max_mib"),
    ],
)
def test_what_grew_is_told_with_its_times_and_a_remedy_for_an_hour(name: str, says: str, remedy: str) -> None:
    (found,) = findings(grew(name, 120, ago(minutes=59)), {}, NOW)
    assert found.startswith(says)
    assert "last at 2026-01-02T11:01:00+00:00" in found
    assert remedy in found
    assert findings(grew(name, 120, ago(minutes=61)), {}, NOW) == []


@pytest.mark.parametrize("name", ["discarded", "evicted"])
def test_of_what_is_gone_it_is_told_when_it_was_recorded(name: str) -> None:
    status = grew(name, 1, ago(minutes=1))
    status["batches"][f"{name}_ns"] = [int((NOW.timestamp() - past) * 1e9) for past in (7200, 3600)]
    (found,) = findings(status, {}, NOW)
    assert "with statements of 2026-01-02T10:00:00+00:00 to 2026-01-02T11:00:00+00:00" in found


def test_a_store_that_takes_nothing_is_told_with_since_when_and_why() -> None:
    store = {"trouble": "/srv/archive: No space left on device", "trouble_since": ago(minutes=5), "full": False}
    (found,) = findings(a_status(store=store), {}, NOW)
    assert "soon nothing more is taken from the rings" in found
    (full,) = findings(a_status(store={**store, "full": True}), {}, NOW)
    assert full == found.replace("soon ", "")
    assert found.startswith(
        "the store takes no objects since 2026-01-02T11:55:00+00:00: /srv/archive: No space left on device"
    )


def test_a_remote_store_that_takes_nothing_is_told_with_what_waits() -> None:
    uploads = {"trouble": "it answers 403; see x", "trouble_since": ago(minutes=5), "spooled": 12}
    store = {"place": "s3://bucket", "trouble": "", "trouble_since": "", "uploads": uploads}
    (found,) = findings(a_status(store=store), {}, NOW)
    assert found.startswith("s3://bucket takes no objects since 2026-01-02T11:55:00+00:00: it answers 403; see x")
    assert "12 objects wait in the spool" in found
    assert findings(a_status(store={**store, "uploads": {**uploads, "trouble": ""}}), {}, NOW) == []


@pytest.mark.parametrize(
    ("status", "processes", "says"),
    [
        (a_status(state="stopped"), {}, "nothing is recorded: it is stopped"),
        (a_status(time=ago(seconds=70)), {}, "it has not answered for 70 s"),
        (a_status(), {"waiting": "a server"}, "nothing is recorded: capture waits for a server"),
        (with_worker(packets={"passed": 0}), {}, "no packet was seen since the start at 2026-01-02T07:00:00+00:00"),
        (
            with_worker(statements={"decoded": 0}, encrypted={"connections": 3}),
            {},
            "no statement was read since the start at 2026-01-02T07:00:00+00:00, as TLS hides those of 3 connections",
        ),
    ],
)
def test_that_it_sees_nothing_is_told_first_and_once(
    status: dict[str, Any], processes: dict[str, Any], says: str
) -> None:
    first, *others = findings({**status, "warnings": ["the key is here"]}, processes, NOW)
    assert first.startswith(says)
    assert others == ["the key is here"]


def test_one_that_has_only_just_begun_may_have_seen_nothing_yet() -> None:
    assert findings({**with_worker(packets={"passed": 0}), "began": ago(seconds=30)}, {}, NOW) == []


def test_a_process_that_was_started_again_is_told_for_an_hour() -> None:
    restarted = {"aggregator": ago(minutes=59), "capture": ago(minutes=61)}
    assert findings(a_status(), {"restarted": restarted}, NOW) == [
        "aggregator ended and was started again, last at 2026-01-02T11:01:00+00:00: the log says how"
    ]


def test_what_the_processes_warn_of_is_told_behind_the_rest() -> None:
    found = findings(a_status(warnings=["the key is here"], balanced=False), {"warnings": ["nobody listens"]}, NOW)
    assert "does not add up" in found[0]
    assert found[1:] == ["the key is here", "nobody listens"]
