"""One target under atheris, which looks for inputs that reach new lines; options and folders are libFuzzer's."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from tests.support import builds


def main() -> int:
    """Does not return where it runs."""
    try:
        atheris: Any = importlib.import_module("atheris")
    except ImportError as error:
        print(f"SKIPPED: no atheris ({error}): pip install querytap[fuzz], for CPython 3.11 to 3.13 on x86-64")
        return 0
    with atheris.instrument_imports(include=["workers", "collector"]):
        from tests.fuzz import corpus

        run = corpus.target(sys.argv[1])
    if builds.under_test() != "interpreted":
        print("SKIPPED: nothing of a compiled build can be traced")
        return 0

    def one(data: bytes) -> None:
        run(data)

    atheris.Setup([sys.argv[0], *sys.argv[2:]], one)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
