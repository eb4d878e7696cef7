"""`python -m collector.monitor`."""

from __future__ import annotations

import sys

from collector.monitor.process import main

sys.exit(main())
