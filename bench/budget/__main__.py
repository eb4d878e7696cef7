"""Measure how the budget is kept; as a module or by the path of its folder (`python bench/budget`)."""

import sys
from pathlib import Path

if str(Path(__file__).parents[2]) not in sys.path:
    sys.path.append(str(Path(__file__).parents[2]))  # last: an installed build is not hidden by the sources beside us

from bench.budget.run import main

if __name__ == "__main__":
    sys.exit(main())
