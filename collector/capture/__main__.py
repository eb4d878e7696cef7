"""`python -m collector.capture`."""

from __future__ import annotations

import sys

from collector.capture.process import main

sys.exit(main())
