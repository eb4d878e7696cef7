"""`querytap run`: record, or in mode "monitor" watch, until told to stop."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from collector import places
from collector.cli.options import rereadable
from collector.config import Config, StartError
from collector.supervisor.lifecycle import supervise


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It has none of its own."""
    parser.epilog = (
        "SIGTERM or Ctrl-C stops it in order; a second one hurries it. On SIGHUP it reads its configuration again."
    )


def run(arguments: argparse.Namespace) -> int:
    """Record; 0 after an orderly stop, 1 when something was left. Raises ConfigError and StartError."""
    # It would end the process, until there is somebody to answer it; what comes meanwhile is answered then.
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGHUP,))
    config, read = rereadable(arguments)
    if config.monitors_alone:
        from collector.monitor import unit

        return unit.alone(config, read)
    _ensure_reader(config)
    return supervise(config, read)


def _ensure_reader(config: Config) -> None:
    """An archive that nobody can open is of no use: on a terminal offer to make a key pair, else refuse."""
    folder = places.keys_folder(config.paths.state)
    if config.seal.recipients or (folder / places.READER_PUBLIC).exists():
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()) or not _agreed(folder):
        raise StartError(
            "there is nobody to seal the archive for",
            "make a key pair with `querytap keygen`, or name files with public keys in seal.recipients",
        )
    from collector.reading.keys import generate

    generate(folder)
    print(f"The key pair is in {folder}. Move reader.key off this host: it opens the archive.", file=sys.stderr)


def _agreed(folder: Path) -> bool:
    print(f"There is no key to seal the archive with. Make a pair in {folder}? [Y/n] ", end="", file=sys.stderr)
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"", "y", "yes"}
