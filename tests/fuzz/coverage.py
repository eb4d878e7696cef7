"""One target under atheris, which looks for inputs that reach new lines; options and folders are libFuzzer's.

Of a compiled build only the target's own lines are traced. It gets what was found on the sources as well, and goes on.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any


def main() -> int:
    """Does not return where it runs."""
    try:
        atheris: Any = importlib.import_module("atheris")
    except ImportError as error:
        print(f"SKIPPED: no atheris ({error}): pip install querytap[fuzz], for CPython 3.11 to 3.13 on x86-64")
        return 0
    with atheris.instrument_imports(include=["workers", "collector", "tests.fuzz"]):
        from tests.fuzz import corpus

        run = corpus.target(sys.argv[1])

    def one(data: bytes) -> None:
        run(data)

    atheris.Setup([sys.argv[0], *sys.argv[2:]], one)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
