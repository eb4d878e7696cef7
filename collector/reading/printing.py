"""The statements of one object that are wanted, as sorted runs of lines: what the processes of a pool do for `read`."""

from __future__ import annotations

from dataclasses import dataclass

from collector.archive.heads import BlockHead
from collector.archive.layout import Header
from collector.reading.archive import Entry
from collector.reading.formats import FORMATS, encode
from collector.reading.runs import Aside, Line, Run, Sorter
from collector.reading.scan import Visit, Wanted, visit
from collector.reading.selection import Selection
from workers.columns import Columns


@dataclass(frozen=True, slots=True)
class Printing:
    """How to print what; call it with an object."""

    wanted: Wanted
    format: str
    raw: bool
    aside: Aside

    def __call__(self, entry: Entry) -> Visit[list[Run]]:
        """Never raises for what is in the archive; OSError when nothing can be set aside."""
        selection = Selection(self.wanted.search)
        render = FORMATS[self.format].render
        sorter = Sorter(self.aside)

        def take(header: Header, head: BlockHead, columns: Columns) -> None:
            for statement in selection.statements(columns):
                line = encode(render(statement, header.host, self.raw))
                sorter.add(Line(statement.time_ns - head.clock_ns, statement.time_ns, line))

        seen: Visit[list[Run]] = visit(entry, self.wanted, take, Visit([]))
        seen.result = sorter.runs()
        return seen
