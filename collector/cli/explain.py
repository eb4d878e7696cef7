"""`querytap explain`: what an option means, its default and its bounds."""

from __future__ import annotations

import argparse
import sys

from collector.config import reference
from collector.config.suggest import unknown_word


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    parser.add_argument(
        "key",
        nargs="?",
        metavar="NAME",
        help="an option (capture.ring_mib, or ring_mib alone) or a section; without it, all options in short",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the explanation; 2 when there is no such option."""
    if arguments.key is None:
        print(reference.overview())
        return 0
    found = reference.find(arguments.key)
    if not found:
        print(f"querytap: {arguments.key}: {unknown_word(arguments.key)}", file=sys.stderr)
        return 2
    print("\n\n".join(reference.explanation(option) for option in found))
    return 0
