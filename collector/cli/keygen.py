"""`querytap keygen`: a pair of keys; the host seals with the public half, the private half reads."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from collector import places
from collector.cli.options import config_from
from collector.config import StartError
from collector.reading.keys import generate


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    parser.add_argument(
        "--folder", type=Path, default=None, metavar="FOLDER", help='where to write (default: "keys" in paths.state)'
    )
    parser.add_argument(
        "--kind", choices=("hybrid", "x25519"), default="hybrid",
        help="hybrid: who is to break it has to break ML-KEM-768 and X25519; x25519: that alone (default: %(default)s)",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Write reader.key and reader.pub; 1 when one of them is there already."""
    folder: Path = arguments.folder or places.keys_folder(config_from(arguments).paths.state)
    try:
        pair = generate(folder, hybrid=arguments.kind == "hybrid")
    except FileExistsError as error:
        print(f"querytap: {error}; nothing was changed", file=sys.stderr)
        return 1
    except OSError as error:
        raise StartError(
            f"keys cannot be written to {folder}: {error.strerror}", "name another with --folder"
        ) from error
    print(f"private key: {pair.private}  (opens the archive: keep it away from the recorded host)")
    print(f"public key:  {pair.public}  (the host seals with it)")
    print(f"id:          {pair.id}")
    return 0
