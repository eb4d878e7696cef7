"""`querytap export`: the statements of an archive as Parquet files, for whatever reads these."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path

from collector.cli.archives import add_reading, print_utf8, wanted_entries, wanted_of
from collector.cli.narrowing import add_filters
from collector.cli.progress import Reporter
from collector.config import ConfigError, Problem, StartError
from collector.reading.archive import ArchiveError
from collector.reading.parquet import Exporting, groups
from collector.reading.pool import Pool

EXAMPLE = "querytap export /var/lib/querytap/archive --key reader.key --to statements --since 2026-01-01"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    add_reading(parser)
    parser.add_argument(
        "--to", type=Path, required=True, metavar="FOLDER",
        help="where to write: a folder host=NAME/day=DATE for each, as Hive lays them out",
    )  # fmt: skip
    add_filters(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the files; 1 when something could not be read or written, 2 for wrong usage, 3 without pyarrow."""
    if find_spec("pyarrow") is None:
        raise StartError("pyarrow, which writes Parquet, is not installed", "pip install 'querytap[parquet]'")
    reporter = Reporter()
    wanted = wanted_of(arguments)
    print_utf8()
    try:
        arguments.to.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError([Problem("--to", f"{arguments.to} cannot be made: {error.strerror}")]) from error
    count = 0
    try:
        parts = groups(wanted_entries(arguments, wanted, reporter))
        exporting = Exporting(wanted, str(arguments.to))
        with Pool(exporting, parts, arguments.jobs) as pool, reporter.progress(parts) as progress:
            for part, seen in pool.results():
                reporter.saw(seen)
                count += seen.result
                progress.done(part)
    except ArchiveError as error:
        reporter(str(error))
    except OSError as error:
        reporter(f"{arguments.to}: {error.strerror or error}")
    print(f"{count} statements in {arguments.to}")
    return 1 if reporter.count else 0
