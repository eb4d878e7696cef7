"""How tests are shared out to several processes."""

from __future__ import annotations

from typing import Final

from xdist.scheduler import LoadScopeScheduling

_HOST: Final = ("tests/integration/", "tests/system/")


class HostToItself(LoadScopeScheduling):
    """One process runs all tests that start servers and make networks, one after the other; the rest go to any."""

    def _split_scope(self, nodeid: str) -> str:
        return "host" if nodeid.startswith(_HOST) else nodeid
