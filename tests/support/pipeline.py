"""Feeds packets to a pipeline, and reads its blocks back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgpack

from tests.support import mysql_packets as mysql
from tests.support.packets import Connection
from workers import records
from workers.checkpoint import Checkpoint
from workers.pipeline import Pipeline
from workers.settings import Settings

START_NS = 1_700_000_000_000_000_000
STEP_NS = 1_000_000
"""Between two packets."""
SECOND_NS = 1_000_000_000


class Capture:
    """A pipeline, the time at which it is, and what came out of it. Each packet must be counted once."""

    def __init__(self, settings: Settings, checkpoint: Checkpoint | None = None) -> None:
        """*checkpoint*: of what another pipeline knew."""
        self.pipeline = Pipeline(1, 2, settings)
        if checkpoint is not None:
            self.pipeline.take_over(checkpoint)
        self.now_ns = START_NS
        self.blocks: list[tuple[bytes, bytes]] = []
        self.packets = 0

    def feed(self, *packets: bytes, cut: int | None = None) -> None:
        """Give packets to the pipeline, of each at most *cut* bytes; blocks are taken when they are ready."""
        for packet in packets:
            self.now_ns += STEP_NS
            before = self.packet_counters()
            captured = packet if cut is None else packet[:cut]
            data = b"\xee" + captured + b"\xee\xee"
            self.pipeline.packet(data, 1, 1 + len(captured), self.now_ns, len(packet))
            after = self.packet_counters()
            changes = {name: after[name] - before[name] for name in after if after[name] != before[name]}
            assert list(changes.values()) == [1], changes
            self.packets += 1
            if self.pipeline.full:
                self.blocks.append(self.pipeline.take_block(self.now_ns))

    def pass_time(self, seconds: float) -> None:
        """Let time go by."""
        self.now_ns += int(seconds * SECOND_NS)
        self.pipeline.tick(self.now_ns)

    def packet_counters(self) -> dict[str, int]:
        """Where packets went."""
        return {name: count for name, count in self.pipeline.counters().items() if name.startswith("packets_")}

    def counted(self, *names: str) -> tuple[int, ...]:
        """What was counted under these names."""
        counters = self.pipeline.counters()
        return tuple(counters[name] for name in names)

    def finish(self) -> list[records.Statement]:
        """Take the last block; every statement of all blocks. What was decoded is in them, and nothing else."""
        self.blocks.append(self.pipeline.take_block(self.now_ns, final=True))
        found = list(self.statements())
        counters = self.pipeline.counters()
        assert counters["statements_decoded"] == counters["statements_packed"] == len(found)
        assert sum(self.packet_counters().values()) == self.packets
        return found

    def statements(self) -> Iterator[records.Statement]:
        """The statements of the blocks taken so far, whose heads must say how many they are."""
        for head, body in self.blocks:
            found = list(records.statements(body))
            assert msgpack.unpackb(head)["statements"] == len(found)
            yield from found

    def heads(self) -> list[dict[str, object]]:
        """The heads of the blocks taken so far."""
        return [msgpack.unpackb(head) for head, _ in self.blocks]


def logged_in(connection: Connection) -> list[bytes]:
    """The packets of a connection up to the end of its login."""
    return [
        *connection.open(),
        connection.server(mysql.greeting()),
        connection.client(mysql.login()),
        connection.server(mysql.ok(sequence=2)),
    ]


def texts(statements: Iterable[records.Statement]) -> list[bytes | None]:
    """The SQL of each statement that is no login."""
    return [statement.sql for statement in statements if statement.command != "connect"]
