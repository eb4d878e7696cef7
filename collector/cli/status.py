"""`querytap status`: what a running instance does, from the files it writes."""

from __future__ import annotations

import argparse
import datetime as dt
import json
import socket
import sys
from collections.abc import Iterator
from typing import Final

from collector import jsonfile, places
from collector.budget.levels import FULL
from collector.cli import processes, verdict
from collector.cli.options import config_from
from collector.cli.processes import ProcessesError
from collector.cli.verdict import STALE_S, Status
from collector.config import ConfigError
from collector.config.option import split_address
from collector.log import printable

_ANSWER_S: Final = 5.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Only how it is printed."""
    parser.add_argument("--json", action="store_true", help="print all of it as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the status; 0 when it records, 1 when it does not, or when something in the status is wrong."""
    try:
        config = config_from(arguments)
    except ConfigError as error:  # what runs may go by the file as it was
        print("\n".join(f"querytap: {problem}" for problem in error.problems), file=sys.stderr)
        config = error.rest
    if config.monitors_alone:
        return _alone(config.monitor.listen)
    path = places.aggregator_run(config.paths.run) / places.STATUS_FILE
    try:
        status = jsonfile.read(path)
        if status is None:
            print(f"not running: there is no {path}")
            return 1
        told, sound = _told(config.paths.run)
        return max(_show(status, told, as_json=arguments.json), 0 if sound else 1)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        # Of what is in a file only the aggregator can know.
        print(f"querytap: {path} cannot be read: {type(error).__name__}: {printable(str(error))}", file=sys.stderr)
        return 1


def _told(run_folder: str) -> tuple[Status, bool]:
    """What the processes tell, and whether it could be read: without it the ledger is shown all the same."""
    try:
        return processes.read(run_folder), True
    except ProcessesError as error:
        print(f"querytap: {printable(str(error))}", file=sys.stderr)
        return {}, False


def _alone(listen: str) -> int:
    """In mode "monitor" there is no ledger: whether metrics are served is all there is to say."""
    print('state      nothing is recorded: mode "monitor"')
    if not listen:
        print("metrics    are not served (monitor.listen)")
        return 0
    try:
        socket.create_connection(split_address(listen), _ANSWER_S).close()
    except OSError as error:
        print(f"metrics    not running: {listen} does not answer ({error.strerror or error})")
        return 1
    print(f"metrics    are served at {listen}")
    return 0


def _show(status: Status, told: Status, *, as_json: bool) -> int:
    now = dt.datetime.now(dt.UTC)
    age_s = (now - dt.datetime.fromisoformat(status["time"])).total_seconds()
    found = verdict.findings(status, told, now)
    recording = status["state"] == "running" and age_s <= STALE_S
    if as_json:
        more = {"age_s": round(age_s, 3), "recording": recording, "findings": found, "processes": told}
        print(json.dumps({**status, **more}))
    else:
        for line in (*_verdict(found), *lines(status, told, age_s)):
            print(printable(line))  # most of it comes from processes that read what strangers send
    return 0 if recording and status["balanced"] else 1


def _verdict(found: list[str]) -> Iterator[str]:
    yield f"verdict    {verdict.headline(found)}"
    for one in found:
        yield f"WARNING    {one}"


def lines(status: Status, told: Status, age_s: float) -> Iterator[str]:
    """The status for a terminal, below the verdict."""
    state = status["state"]
    if state == "running":
        state = "recording" if age_s <= STALE_S else f"NOT ANSWERING for {age_s:.0f} s"
    yield f"state      {state}"
    yield f"instance   {status['instance']} on {status['host']}"
    if told:
        yield from _processes(told)
    rates = status["rates"]
    yield f"rate       {rates['statements_per_s']} statements/s, {rates['packets_per_s']} packets/s"
    yield from _budget(status["budget"])
    batches, store = status["batches"], status["store"]
    yield (
        f"archive    {store['place']}: {batches['stored']} objects stored, {batches['waiting']} waiting,"
        f" {batches['discarded']} given up, {batches['evicted']} evicted"
    )
    yield from _uploads(store.get("uploads"), status["time"])
    for number, worker in status["ledger"].items():
        yield f"worker {number:<3} {_sums('packets', worker['packets'])}"
        yield f"           {_sums('statements', worker['statements'])}"
        encrypted = worker["encrypted"]
        if encrypted["connections"]:
            yield f"           {_sums('not seen for TLS', encrypted)}"
        if worker["crashes"]:
            yield f"           {worker['crashes']} of its processes ended without having been told to"
        yield from _traffic(worker)
        for fault in worker["faults"]:
            yield f"           DOES NOT ADD UP: {fault}"
    for note in _of_processes(told):
        yield f"note       {note}"


def _uploads(uploads: Status | None, time: str) -> Iterator[str]:
    """What of the archive is in the remote store, and what is in the spool."""
    if not uploads:
        return
    there = f", {uploads['were_there']} of them were there" if uploads["were_there"] else ""
    yield f"uploaded   {uploads['uploaded']} objects{there}; {uploads['uploaded_bytes']} bytes sent"
    age = ""
    if uploads["oldest_ns"] is not None:
        age_s = dt.datetime.fromisoformat(time).timestamp() - uploads["oldest_ns"] / 1e9
        age = f", the oldest of {age_s:.0f} s ago"
    yield f"spooled    {uploads['spooled']} objects, {uploads['spooled_bytes']} bytes{age}"
    if uploads["errors"]:
        yield f"           failed: {', '.join(f'{kind} {count}' for kind, count in uploads['errors'].items())}"


def _processes(told: Status) -> Iterator[str]:
    where = ", ".join(told["interfaces"]) or "all interfaces"
    yield f"listening  port {', '.join(map(str, told['ports']))} on {where}"
    for note in told.get("capture", ()):
        yield f"capture    {note}"
    if told.get("sealed_by"):
        yield f"sandbox    {told['sealed_by']}"
    yield from _reload(told.get("reload"))
    restarts = {name: count for name, count in told["restarts"].items() if count}
    if restarts:
        yield f"restarts   {', '.join(f'{name} {count}' for name, count in restarts.items())}"


def _reload(reload: Status | None) -> Iterator[str]:
    """When the configuration was last read again, and what came of it."""
    if not reload:
        return
    if not reload["applied"]:
        yield f"reload     {reload['time']}: REFUSED, the settings from before go on:"
        yield from (f"           {problem}" for problem in reload["problems"])
        return
    yield f"reload     {reload['time']}: {'; '.join(reload['changed']) or 'nothing to change'}"
    if reload["waiting"]:
        yield f"           after a restart: {', '.join(reload['waiting'])}"


def _of_processes(told: Status) -> Iterator[str]:
    """What this host does not have, and always so."""
    for role in told.get("kept_user", ()):
        name = told["users"][role]
        yield f'{role}: no user of its own is within reach here; runs as "{name}" like capture, without capabilities'
    if told.get("one_user"):
        yield "workers and aggregator are one user: archive and signing key are in reach of a worker that is taken over"
    for what in told.get("unsealed_by", ()):
        yield f"this kernel has not {what}: a worker that is taken over can do more than read packets"


def _traffic(worker: Status) -> Iterator[str]:
    found = [f"{name} {count['in']} in {count['out']} out" for name, count in worker.get("interfaces", {}).items()]
    if found:
        yield f"           interfaces: {', '.join(found)}"
    if worker.get("ring_freezes"):
        yield f"           ring full: {worker['ring_freezes']} times (capture.ring_mib, workers.count)"


def _budget(budget: Status) -> Iterator[str]:
    if "own_percent" not in budget:
        return
    kernel = f"{budget['kernel_percent']} % in the kernel ({'' if budget['calibrated'] else 'not '}calibrated)"
    yield f"cpu        {budget['own_percent']} % of a core, and {kernel}; {budget['cpu_percent']} % allowed"
    if budget["level"] != FULL:
        since = dt.datetime.fromtimestamp(budget["since_ns"] / 1e9, dt.UTC).isoformat(timespec="seconds")
        yield f"budget     level {budget['level']} since {since}: {budget['why']}"


def _sums(what: str, sums: Status) -> str:
    parts = [f"{name} {sum(value.values()) if isinstance(value, dict) else value}" for name, value in sums.items()]
    return f"{what}: {', '.join(parts)}"
