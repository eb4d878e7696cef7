"""Which ids a server gave to what was prepared, where its answers are not seen: one direction of a connection.

MySQL and MariaDB number what is prepared on a connection in a row, what fails to be too, and from one user or reset to
the next. MySQL begins at 1; MariaDB where the connection before left off that its thread served (thread_cache_size).
They take numbers of the same row for themselves: for PREPARE and EXECUTE IMMEDIATE in SQL, also in a procedure, and at
an execution, when it has to be prepared again because tables or the types of values have changed
(``Prepared_statement`` in both servers' sql_prepare.cc). None of that is seen from outside.

So what is prepared in a row has numbers in a row: a run. Behind anything that may have taken numbers another run
begins, whose first number is not known until the client uses one of its numbers that can belong nowhere else.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from workers.mysql.prepared import Prepared

_TAKES_NUMBERS: Final = re.compile(rb"(?i)prepare|execute|call|begin|declare")
"""In a query; BEGIN and DECLARE begin blocks, where MariaDB's Oracle mode calls a procedure by its name alone."""
_MOST_RUNS: Final = 256
_MOST_CANDIDATES: Final = 16
"""Statements of which a number can be one's, before it is not tried to tell them apart."""


@dataclass(slots=True)
class Run:
    """Statements with numbers in a row; ``first`` is 0 until it is known, and nothing is kept of it afterwards."""

    first: int
    size: int = 0
    members: list[Prepared] = field(default_factory=list)


Candidate = tuple[Run, int]
"""A statement by its run and its place in it."""


class Numbering:
    """The runs of one connection that was seen from its login on.

    Promise, pinned by a property test: where each PREPARE takes one number, candidates() has the statement that has
    the number, unless it says that it is not to be told.
    """

    def __init__(self) -> None:
        self._runs: list[Run] = [Run(0)]
        self._least = 1
        self._disturbed = False

    def add(self, prepared: Prepared) -> int:
        """A PREPARE was sent. Its number; 0 where that is not known yet."""
        if self._disturbed:
            self._runs.append(Run(0))
            self._disturbed = False
        run = self._runs[-1]
        run.size += 1
        if run.first:
            return run.first + run.size - 1
        run.members.append(prepared)
        return 0

    def full(self) -> bool:
        """Whether there is too much that is not known."""
        return len(self._runs) > _MOST_RUNS

    def disturb(self) -> None:
        """The server may have taken numbers for itself."""
        self._disturbed = True

    def query(self, text: bytes, whole: bool) -> None:
        """A query was sent."""
        if not whole or _TAKES_NUMBERS.search(text) is not None:
            self._disturbed = True

    def candidates(self, number: int) -> list[Candidate] | None:
        """Those of the statements without a number that can have this one; None where they are too many to tell."""
        found: list[Candidate] = []
        least = self._least
        for place, run in enumerate(self._runs):
            if run.first:
                least = run.first + run.size
                continue
            low = max(0, number + run.size - self._ceiling(place))
            high = min(run.size - 1, number - least)
            if len(found) + high - low >= _MOST_CANDIDATES:
                return None
            found += [(run, index) for index in range(low, high + 1)]
            least += run.size
        return found

    def _ceiling(self, place: int) -> int:
        """The numbers of that run are smaller than this."""
        between = 0
        for run in self._runs[place + 1 :]:
            if run.first:
                return run.first - between
            between += run.size
        return 1 << 32

    def settle(self, candidate: Candidate, number: int) -> list[Prepared]:
        """The number is that statement's. All of its run, in order, with their numbers set."""
        run, index = candidate
        run.first = number - index
        members, run.members = run.members, []
        for offset, prepared in enumerate(members):
            prepared.statement_id = run.first + offset
        while len(self._runs) > 1 and self._runs[0].first:
            gone = self._runs.pop(0)
            self._least = gone.first + gone.size
        return members

    def forget(self) -> list[Prepared]:
        """The server has forgotten all statements; it counts on. Those that had no number yet."""
        members = self.unnumbered()
        for run in self._runs:
            self._least = (run.first or self._least) + run.size
        self._runs = [Run(0)]
        self._disturbed = True
        return members

    def unnumbered(self) -> list[Prepared]:
        """The statements whose numbers are not known."""
        return [prepared for run in self._runs for prepared in run.members]
