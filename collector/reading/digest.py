"""The load of one object's statements that are wanted: what the processes of a pool do for `digest`."""

from __future__ import annotations

from dataclasses import dataclass

from collector.archive.heads import BlockHead
from collector.archive.layout import Header
from collector.reading.archive import Entry
from collector.reading.load import Grouping, Loads
from collector.reading.scan import Visit, Wanted, visit
from collector.reading.selection import Selection
from collector.reading.shapes import Shapes
from workers.columns import Columns

_SHAPES = Shapes()  # of the process: what one object has the next one has too


@dataclass(frozen=True, slots=True)
class Digesting:
    """What to sum by what; call it with an object. Never raises for what is in the archive."""

    wanted: Wanted
    by: str

    def __call__(self, entry: Entry) -> Visit[Loads]:
        """The object's load."""
        selection = Selection(self.wanted.search, _SHAPES)
        grouping = Grouping(self.by, _SHAPES)
        loads = Loads()

        def take(header: Header, _: BlockHead, columns: Columns) -> None:
            for group, load in grouping.loads(columns, selection.rows(columns), header.host).items():
                loads.add(group, load)

        return visit(entry, self.wanted, take, Visit(loads))
