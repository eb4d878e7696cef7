"""Names and values beside Debian's exporters and SHOW STATUS, all read in the same minute, as docs/metrics-compared.md.

`python bench/metrics_compared.py --write` from the top of the source tree; without it the text is printed.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

if str(Path(__file__).parents[1]) not in sys.path:
    sys.path.append(str(Path(__file__).parents[1]))  # last: an installed build is not hidden by the sources beside us

import pymysql
from prometheus_client.parser import text_string_to_metric_families

from bench import machine
from bench.monitoring import monitoring
from tests.support import exporters
from tests.support.debian import UnavailableError
from tests.support.mysql97 import MySQL97
from tests.support.namespaces import Host
from tests.support.servers import PASSWORD, USER, MariaDB

PATH: Final = "docs/metrics-compared.md"

Series = tuple[str, tuple[tuple[str, str], ...]]
Page = Mapping[Series, float]

_BINLOG: Final = ("--log-bin=bin", "--server-id=1")
_PREPARATION: Final = (
    "CREATE DATABASE IF NOT EXISTS shop",
    "CREATE TABLE shop.stock (id INT PRIMARY KEY)",
    "INSERT INTO shop.stock VALUES (1), (2)",
)
_OURS: Final = ("node_", "mysql_")
_OF_THE_EXPORTER: Final = re.compile(r"(?:node_scrape_|node_exporter_|mysql_exporter_|node_textfile_)")
_CLOSE: Final = 0.02
"""Values that move on between two fetches agree when they differ by less than this share."""


class Compared(NamedTuple):
    """What a comparison of two pages comes to."""

    both: int
    alike: int
    differ: list[tuple[Series, float, float]]
    theirs: Counter[str]
    """Series that only the exporter has, by metric."""
    ours: Counter[str]


def parsed(text: str, *, without: str = "") -> Page:
    """The series of a page with our prefixes; the label *without* is left out."""
    found: dict[Series, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name.startswith(_OURS) and not _OF_THE_EXPORTER.match(sample.name):
                labels = tuple(sorted((name, value) for name, value in sample.labels.items() if name != without))
                found[sample.name, labels] = sample.value
    return found


def compare(ours: Page, theirs: Page) -> Compared:
    """Series by series."""
    both = ours.keys() & theirs.keys()
    differ = [
        (series, ours[series], theirs[series]) for series in sorted(both) if not close(ours[series], theirs[series])
    ]
    return Compared(
        len(both),
        len(both) - len(differ),
        differ,
        Counter(name for name, _ in theirs.keys() - ours.keys()),
        Counter(name for name, _ in ours.keys() - theirs.keys()),
    )


def close(one: float, other: float) -> bool:
    """Whether two values are the same but for a moment between them."""
    return one == other or abs(one - other) <= _CLOSE * max(abs(one), abs(other))


def fetched(url: str) -> str:
    """A page as text."""
    with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310  # it is http
        text: str = answer.read().decode()
        return text


class Seen(NamedTuple):
    """What was read of one server."""

    version: str
    ours: str
    mysqld: str
    node: str
    status: dict[str, str]


def read_all(folder: Path, server: MariaDB | MySQL97) -> Seen:
    """Our page, those of both exporters, and SHOW GLOBAL STATUS."""
    server.folder.chmod(0o755)  # for its socket
    with ExitStack() as stack:
        _, node = stack.enter_context(exporters.of_node())
        _, mysqld = stack.enter_context(exporters.of_mysqld(folder, server.port, USER, PASSWORD))
        root = stack.enter_context(pymysql.connect(unix_socket=str(server.socket), user="root", autocommit=True))
        cursor = stack.enter_context(root.cursor())
        for statement in _PREPARATION:
            cursor.execute(statement)
        _, url = stack.enter_context(monitoring(folder, server))
        ours = ""
        while "mysql_global_status_queries" not in ours or "node_filesystem_size_bytes" not in ours:
            try:
                ours = fetched(url)
            except OSError:
                continue  # it is about to listen
        theirs = fetched(mysqld), fetched(node)
        cursor.execute("SHOW GLOBAL STATUS")
        status = dict(cursor.fetchall())
        cursor.execute("SELECT VERSION()")
        ((version,),) = cursor.fetchall()
    return Seen(str(version), ours, *theirs, status)


def document(folder: Path) -> str:
    """The text of the page."""
    where = machine.describe()
    lines = [
        "# Metrics beside the exporters",
        "",
        "<!-- Written by `python bench/metrics_compared.py --write`. -->",
        "",
        "querytap, Debian's prometheus-mysqld-exporter 0.14.0 and prometheus-node-exporter 1.5.0, and `SHOW GLOBAL",
        f"STATUS`, read one after the other within some seconds ({where['time']}, Linux {where['kernel']}).",
        "Labels are compared too, apart from `server`, which querytap adds. Values agree where they differ by no more",
        f"than {_CLOSE:.0%}: what the others ask in between counts.",
    ]
    with MariaDB(Host(), _BINLOG) as mariadb:
        seen = read_all(folder, mariadb)
    lines += _of_server(f"MariaDB {seen.version}", seen)
    host = _only(parsed(seen.ours, without="server"), "node_")
    with MySQL97(Host(), ("--performance-schema=ON", *_BINLOG)) as mysql:
        lines += _of_server("MySQL", read_all(folder, mysql))
    lines += ["", "## The host, beside node_exporter", "", *_section(compare(host, parsed(seen.node)))]
    return "\n".join(lines) + "\n"


def _of_server(title: str, seen: Seen) -> Iterator[str]:
    mine = _only(parsed(seen.ours, without="server"), "mysql_")
    if seen.version not in title:
        title += f" {seen.version}"
    yield from ("", f"## {title}, beside mysqld_exporter", "", *_section(compare(mine, parsed(seen.mysqld))))
    yield from ("", f"## {title}, beside SHOW GLOBAL STATUS", "", *_status(mine, seen.status))


def _only(page: Page, prefix: str) -> Page:
    return {series: value for series, value in page.items() if series[0].startswith(prefix)}


def _section(found: Compared) -> Iterator[str]:
    yield f"{found.both} series are in both; {found.alike} of them have the same value."
    if found.differ:
        yield from ("", "| series in both | querytap | exporter |", "| --- | --- | --- |")
        yield from (f"| `{_name(series)}` | {mine:g} | {theirs:g} |" for series, mine, theirs in found.differ)
    for title, counted in (("Only the exporter has", found.theirs), ("Only querytap has", found.ours)):
        yield from ("", f"{title}: " + (_listed(counted) or "nothing") + ".")


def _status(mine: Page, status: Mapping[str, str]) -> Iterator[str]:
    numbers = {name: float(value) for name, value in status.items() if re.fullmatch(r"-?\d+(?:\.\d+)?", value)}
    plain = {series[0]: value for series, value in mine.items() if not series[1]}
    labelled = {(name, labels[0][1]): value for (name, labels), value in mine.items() if len(labels) == 1}
    served: dict[str, float] = {}
    for name in numbers:
        group, _, rest = name.lower().partition("_")
        value = plain.get(f"mysql_global_status_{name.lower()}")
        if value is None and group in {"com", "handler"}:
            value = labelled.get((f"mysql_global_status_{'commands' if group == 'com' else 'handlers'}_total", rest))
        if value is not None:
            served[name] = value
    alike = sum(close(value, numbers[name]) for name, value in served.items())
    yield f"Of {len(numbers)} variables with a number {len(served)} are served by their own name or by that of their"
    yield f"group (`Com_`, `Handler_`); {alike} have the same value. These differ, as the questions in between count:"
    yield from ("", "| variable | querytap | SHOW GLOBAL STATUS |", "| --- | --- | --- |")
    for name, value in served.items():
        if not close(value, numbers[name]):
            yield f"| `{name}` | {value:g} | {numbers[name]:g} |"
    others = sorted(numbers.keys() - served.keys())
    yield from (
        "",
        f"The others are served with labels, or are sums of those: {', '.join(f'`{name}`' for name in others)}.",
    )


def _name(series: Series) -> str:
    name, labels = series
    return name + ("{" + ",".join(f'{key}="{value}"' for key, value in labels) + "}" if labels else "")


def _listed(counted: Counter[str]) -> str:
    return ", ".join(f"`{name}`" + (f" ({count})" if count > 1 else "") for name, count in sorted(counted.items()))


def main() -> int:
    """Compare, and print or write the page."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {PATH}")
    write = parser.parse_args().write
    try:
        with tempfile.TemporaryDirectory(prefix="querytap-bench-") as name:
            Path(name).chmod(0o755)
            text = document(Path(name))
    except UnavailableError as error:
        sys.stderr.write(f"bench: {error}\n")
        return 3
    if write:
        (machine.ROOT / PATH).write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
