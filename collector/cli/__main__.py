"""`python -m collector.cli`: the same as the console script `querytap`."""

from __future__ import annotations

import sys

from collector.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
