"""What the two ends of a connection can do: group__group__cs__capabilities__flags."""

import cython

from workers.mysql import constants

_QUERY_ATTRIBUTES = cython.declare(cython.ulonglong, constants.CLIENT_QUERY_ATTRIBUTES)


@cython.final
@cython.cclass
class Capabilities:
    """Flags as each end said them, those of MariaDB above 32 bits; 0 where it was not heard."""

    client: cython.ulonglong
    server: cython.ulonglong

    def __init__(self) -> None:
        self.client = self.server = 0

    @cython.ccall
    @cython.exceptval(-1)
    def negotiated(self) -> cython.ulonglong:
        """Those that hold: both sides', or the client's alone where the greeting was not seen."""
        if self.server:
            return self.client & self.server
        return self.client

    @cython.ccall
    @cython.exceptval(-1)
    def attributes(self) -> cython.int:
        """Whether commands may bring query attributes; -1 where the server was not heard: clients say so to any."""
        if self.client == 0 or (self.server == 0 and self.client & _QUERY_ATTRIBUTES):
            return -1
        return self.negotiated() & _QUERY_ATTRIBUTES != 0
