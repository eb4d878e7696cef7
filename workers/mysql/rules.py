"""What holds for all conversations of a worker, and what the bytes of a packet can be to one."""

from typing import Final

import cython

from workers.mysql.framing import Allowance

# What a segment was to a conversation.
USED: Final = 0
UNMATCHED: Final = 1
"""From the server, and answers nothing that is open: by chance it looked like the beginning of an answer."""
DESYNC: Final = 2
"""From the client, and no command that can be trusted begins in it."""
ENCRYPTED: Final = 3
COMPRESSED: Final = 4


@cython.final
@cython.cclass
class Rules:
    """What holds for all conversations of a worker: how much of a text is kept, and what is known of answers.

    ``answers``: they are waited for; ``timed``: to their end. What unfinished and unanswered commands and long data
    keep is charged to *allowance*.
    """

    keep_bytes: cython.longlong
    answers: cython.bint
    allowance: Allowance
    timed: cython.bint

    def __init__(self, keep_bytes: int, answers: bool, allowance: Allowance, timed: bool = False) -> None:
        self.keep_bytes = keep_bytes
        self.answers = answers
        self.allowance = allowance
        self.timed = timed
