"""The protocol of MySQL's clone plugin, spoken on a connection between the OK to COM_CLONE and its own COM_EXIT.

Its commands come in packets with sequence id 0, and their numbers, 1 to 6, are those of other commands too:
plugin/clone/include/clone.h, enum Command_RPC. None of them is looked at.
"""

from typing import Final

import cython

from workers.mysql import events
from workers.mysql.constants import COM_QUIT
from workers.mysql.events import Exchange

COM_EXIT: Final = 6
"""The last of its commands, and the highest number."""

_COM_EXIT = cython.declare(cython.uint, COM_EXIT)
_COM_QUIT = cython.declare(cython.uint, COM_QUIT)
_STATUS_ERROR = cython.declare(cython.uint, events.ERROR)


@cython.final
@cython.cclass
class Clone:
    """Whether the connection speaks that protocol."""

    _command: Exchange | None

    def __init__(self) -> None:
        self._command = None

    @cython.ccall
    def begin(self, command: Exchange) -> cython.int:
        """A COM_CLONE was sent: unless it fails, what follows is not for us."""
        self._command = command
        return 0

    @cython.ccall
    def may_begin(self, number: cython.uint) -> cython.bint:
        """Whether *number* can begin a command of its own, where it is not known what came before."""
        return self._command is not None and number <= _COM_EXIT

    @cython.ccall
    def takes(self, number: cython.uint, length: cython.longlong) -> cython.bint:
        """Whether a payload of it begins with *number*; a COM_QUIT is told from its COM_INIT by the length."""
        command: Exchange | None = self._command
        if command is None:
            return False
        taken: cython.bint = number <= _COM_EXIT and command.status != _STATUS_ERROR
        if number == _COM_QUIT and length == 1:
            taken = False
        if not taken or number == _COM_EXIT:
            self._command = None
        return taken
