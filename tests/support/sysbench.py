"""sysbench with a script of our own, as text or as statements prepared on the server, paced."""

from __future__ import annotations

from pathlib import Path

from tests.support.servers import DATABASE, PASSWORD, USER
from tests.support.statements import Statement

SCRIPT = Path(__file__).with_name("orders.lua")
ROWS = 10_000
TABLES = (
    "CREATE TABLE orders (id INT AUTO_INCREMENT PRIMARY KEY, customer INT NOT NULL, state INT NOT NULL, "
    "changed INT NOT NULL DEFAULT 0, note VARCHAR(300) NOT NULL, KEY (customer)) CHARACTER SET utf8mb4",
    f"INSERT INTO orders (customer, state, note) SELECT seq, seq % 100, REPEAT('n', seq % 200) FROM seq_1_to_{ROWS}",
)


def command(
    port: int, lists: Path, *, prepared: bool, connections: int, statements: int, rate: int, most_s: int = 600
) -> list[str]:
    """The command line that sends *statements* in all, at *rate* a second (0: as fast as it can), over *connections*.

    *statements* 0: until *most_s* is over. Lists of what was sent go to the folder *lists*.
    """
    return [
        "sysbench", str(SCRIPT), "--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-port={port}",
        f"--mysql-user={USER}", f"--mysql-password={PASSWORD}", f"--mysql-db={DATABASE}",
        f"--db-ps-mode={'auto' if prepared else 'disable'}", f"--threads={connections}", f"--events={statements}",
        f"--rate={rate}", f"--time={most_s}", f"--rows={ROWS}", f"--lists={lists}", "run",
    ]  # fmt: skip


def sent(lists: Path) -> list[Statement]:
    """What the threads sent; complete once sysbench has ended."""
    found = []
    for path in sorted(lists.glob("*.list")):
        for line in path.read_bytes().splitlines():
            name, _, text = line.partition(b"\t")
            found.append(Statement(int(path.stem), name.decode(), text))
    return found
