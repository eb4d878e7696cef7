"""One server as a source of readings: what is asked when, and that it is down where it is."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from collector.config.monitoring import MonitorOptions
from collector.log import printable
from collector.monitor.database import credentials
from collector.monitor.database import families as of
from collector.monitor.database.credentials import CredentialsError
from collector.monitor.database.questions import QUESTIONS, Pace, Question, Server
from collector.monitor.database.session import DownError, QuestionError, Session
from collector.monitor.families import Reading, Readings

_log = logging.getLogger(__name__)

_EARLY_S: Final = 0.5  # by which a poll may come before its time and still do what is due then


class PolledServer:
    """Asks the server at *address* what is due at each read().

    Promise: a server that is down, restarts, hangs or refuses is a reading (mysql_up 0 with a reason), said once in the
    log until that changes; nothing of a server that is down is told as if it were of now.
    """

    def __init__(self, address: str, options: Callable[[], MonitorOptions]) -> None:
        self._address = address
        self._options = options
        self._session = Session(address)
        self._told: dict[str, Readings] = {}
        """The last answers, by question."""
        self._asked: dict[str, float] = {}
        self._refused: dict[str, int] = {}
        """The error of each question that was refused."""
        self._state = ""

    def read(self) -> Readings:
        """Poll once."""
        began, wall = time.monotonic(), time.time()
        try:
            self._poll(began)
        except DownError as error:
            self._say(error.reason, str(error))
            found: Readings = (Reading(of.UP, 0), Reading(of.DOWN, 1, (error.reason,)))
        else:
            self._say("up", "")
            found = (Reading(of.UP, 1), Reading(of.VERSION, 1, self._session.said), *self._answers())
        took = (Reading(of.POLL_SECONDS, time.monotonic() - began), Reading(of.POLL_TIME, wall))
        return tuple(reading._replace(labels=(self._address, *reading.labels)) for reading in (*found, *took))

    def close(self) -> None:
        """Let go of the connection."""
        self._session.close()

    def _poll(self, now: float) -> None:
        try:
            given = credentials.read(self._options().credentials_file, self._address)
        except CredentialsError as error:
            path = self._options().credentials_file
            raise DownError("denied", f"{path} (monitor.credentials_file) {error}") from error
        try:
            if self._session.begin(given):
                self._forget()
            assert self._session.server is not None
            found: dict[str, float] = {}
            for question in QUESTIONS:
                if self._due(question, now):
                    self._ask(question, self._session.server, found)
                    self._asked[question.name] = now
        except DownError:
            self._forget()
            self._session.close()
            raise

    def _ask(self, question: Question, server: Server, found: dict[str, float]) -> None:
        sql = question.sql(server)
        if sql is None:
            return
        try:
            rows = self._session.ask(sql) if question.when(found) else ()
        except QuestionError as error:
            self._told[question.name] = (Reading(of.ANSWERED, 0, (question.name,)),)
            if self._refused.get(question.name) != error.code:
                _log.warning(
                    "%s refuses what is asked of it for %s: %s; `querytap grant` prints the rights that it takes",
                    self._address, question.name, printable(str(error)),
                )  # fmt: skip
            self._refused[question.name] = error.code
            return
        self._refused.pop(question.name, None)
        readings = tuple(question.readings(rows))
        found.update((reading.name, reading.value) for reading in readings if not reading.labels)
        self._told[question.name] = (Reading(of.ANSWERED, 1, (question.name,)), *readings)

    def _due(self, question: Question, now: float) -> bool:
        pace_s = _paces(self._options())[question.pace]
        last = self._asked.get(question.name)
        return pace_s is not None and (last is None or now - last >= pace_s - _EARLY_S)

    def _answers(self) -> Iterator[Reading]:
        for readings in self._told.values():
            yield from readings

    def _forget(self) -> None:
        """What another process of the server said is of the past."""
        self._told, self._asked = {}, {}

    def _say(self, state: str, message: str) -> None:
        if state == self._state:
            return
        if state != "up":
            _log.warning("%s does not answer (%s): %s", self._address, state, printable(message))
        elif self._state:
            _log.info("%s answers again", self._address)
        else:
            _log.info("%s answers: version %s", self._address, printable(self._session.said[1]))
        self._state = state


def _paces(options: MonitorOptions) -> Mapping[Pace, float | None]:
    return {"each": 0, "slow": options.slow_interval_s, "tables": options.tables_interval_s or None}
