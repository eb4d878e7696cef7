"""One direction of a TCP connection: puts segments in order (RFC 9293 section 3.4, 3.10.7.4). No I/O, no clock.

A sniffer cannot ask again for what it missed. A hole is waited for (segments behind it are held), and then given up
by the caller, by age or by bytes held: never by what the other direction says, which may not be seen at all.

A hole given up is remembered, for the bytes in it may come after all: sent again very late, or because what lay behind
the hole was never taken by the receiver, as whoever wants to lead a sniffer astray would have it.
"""

from typing import Final

import cython

from workers.tcp.pieces import REACH, Held, Hole, distance, mark, wrapped

# What offer() made of a segment.
DELIVER: Final = 0
HELD: Final = 1
DUPLICATE: Final = 2
EMPTY: Final = 3
STRAY: Final = 4

_DELIVER = cython.declare(cython.int, DELIVER)
_HELD = cython.declare(cython.int, HELD)
_DUPLICATE = cython.declare(cython.int, DUPLICATE)
_EMPTY = cython.declare(cython.int, EMPTY)
_STRAY = cython.declare(cython.int, STRAY)
_REACH = cython.declare(cython.longlong, REACH)
_PIECE_BYTES = cython.declare(cython.Py_ssize_t, 128)
"""What a held piece takes besides its bytes: one-byte segments must not cost a hundred times what is accounted for."""
_NEAR = cython.declare(cython.longlong, 0x100000)
_MOST_HOLES = cython.declare(cython.Py_ssize_t, 4)
"""Holes given up that are told apart."""
_SEEN_BYTES = cython.declare(cython.Py_ssize_t, 1024)
"""Of what was delivered behind a hole, how much is kept to tell a copy from something else."""


@cython.final
@cython.cclass
class Stream:
    """The bytes of one direction, each delivered once and in order, or declared missing.

    Promises, each pinned by a property test: cutting, reordering, doubling and overlapping segments never changes
    the bytes delivered; where copies of one byte disagree the first that came is the one delivered.
    ``start``, ``stop``: after DELIVER, where in the offered bytes those begin and end that are next in order; ``gap``:
    how many behind them were not captured. ``returned``: after DELIVER or HELD, the stream went back to a hole it had
    given up, before it took the segment: what was begun behind the hole does not go on here.
    ``held_bytes``: the memory of what is being held, 0 where nothing waits; ``held_since_ns``: capture time of the
    oldest held segment. Held pieces never overlap, and all lie ahead of ``next``. ``kept_bytes``: of what is kept with
    holes given up. ``acknowledgment``: of the segment that is offered; the caller sets it where it wants it back with
    what was held. ``strayed_ns``: since when nothing came but STRAY segments, 0 where the last one was none.
    """

    started: cython.bint
    next: cython.uint
    start: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    gap: cython.longlong
    returned: cython.bint
    held_bytes: cython.Py_ssize_t
    kept_bytes: cython.Py_ssize_t
    acknowledgment: cython.uint
    held_since_ns: cython.longlong
    strayed_ns: cython.longlong
    disagreements: cython.ulonglong
    _held: list[Held]
    _released: cython.bint
    _holes: list[Hole]
    _seen: cython.uint
    _seen_bytes: cython.longlong
    _seen_copy: bytes
    _passing: cython.bint
    _left: cython.uint
    _left_low: cython.uint
    _was_left: cython.bint
    _last: cython.uint
    _last_bytes: cython.longlong
    _last_mark: cython.ulonglong

    def __init__(self) -> None:
        self.started = False
        self.next = 0
        self.start = 0
        self.stop = 0
        self.gap = 0
        self.returned = False
        self.held_bytes = 0
        self.kept_bytes = 0
        self.acknowledgment = 0
        self.held_since_ns = 0
        self.strayed_ns = 0
        self.disagreements = 0
        self._held = []
        self._released = False
        self._holes = []  # the oldest first
        self._seen = 0
        self._seen_bytes = 0  # ahead of next, and delivered already; 0: nothing is
        self._seen_copy = b""  # its beginning
        self._passing = False
        self._left = self._left_low = 0  # where the stream was before a restart, and the lowest hole it had then
        self._was_left = False
        self._last = self._last_mark = 0  # the segment delivered last, to tell a copy from something else
        self._last_bytes = -1

    @cython.ccall
    def open(self, sequence: cython.uint) -> cython.int:
        """Begin at *sequence*: the one after a SYN, or of the first segment seen of a connection joined late."""
        self.started = True
        self.next = sequence
        return 0

    @cython.ccall
    @cython.exceptval(-1)
    def offer(
        self,
        sequence: cython.uint,
        data: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        missing: cython.Py_ssize_t,
        time_ns: cython.longlong,
    ) -> cython.int:
        """Take the segment ``data[at:end]``, after which *missing* bytes were on the wire but not captured.

        DELIVER: ``data[start:stop]`` is next in order, and the caller declares ``gap`` bytes behind it lost; then it
        asks take() until nothing comes. HELD: a copy waits for what is before it. DUPLICATE: all of it was seen.
        STRAY: it lies further away than any window reaches.
        """
        self.returned = False
        if sequence != self.next or not self.started or self._seen_bytes:
            return self._elsewhere(sequence, data, at, end, missing, time_ns)
        if end - at + missing == 0:
            return _EMPTY
        if self._held or self._holes:
            return self._deliver(sequence, data, at, end, missing, time_ns)
        self.strayed_ns = 0  # the usual case: next in order, and nothing to mind
        self.start = at
        self.stop = end
        self.gap = missing
        self.next = wrapped(sequence + (end - at) + missing)
        self._last = sequence
        self._last_bytes = end - at
        self._last_mark = mark(data, at, end)
        return _DELIVER

    @cython.cfunc
    @cython.exceptval(-1)
    def _elsewhere(
        self,
        sequence: cython.uint,
        data: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        missing: cython.Py_ssize_t,
        time_ns: cython.longlong,
    ) -> cython.int:
        """A segment that does not begin just where the stream is, or comes where it went back."""
        length: cython.longlong = end - at + missing
        if length == 0:
            return _EMPTY
        if not self.started:
            self.open(sequence)
        if self._holes and end > at:
            self._return_for(sequence, data, at, end)
        ahead: cython.longlong = distance(sequence, self.next)
        if ahead >= _REACH or ahead < -_REACH or length >= _REACH:
            if not self._was_left or not self._go_back(sequence):
                if self.strayed_ns == 0:
                    self.strayed_ns = time_ns
                return _STRAY
            ahead = distance(sequence, self.next)
        if ahead + length <= 0:
            if sequence == self._last and self._last_bytes == length:
                self.disagreements += mark(data, at, end) != self._last_mark
            return _DUPLICATE
        if self._seen_bytes:
            return self._before_seen(sequence, data, at, end, missing, time_ns)
        if ahead > 0:
            return self._hold(sequence, data, at, end, missing, time_ns)
        return self._deliver(sequence, data, at, end, missing, time_ns)

    @cython.cfunc
    def _go_back(self, sequence: cython.uint) -> cython.bint:
        """Whether the segment belongs where the stream was before a restart, and it is there again."""
        if 0 <= distance(sequence, self._left) < _NEAR:
            self.restart(self._left)
        elif 0 <= distance(sequence, self._left_low) < distance(self._left, self._left_low):
            self.restart(sequence)
        else:
            return False
        self.returned = True
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def _deliver(
        self,
        sequence: cython.uint,
        data: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        missing: cython.Py_ssize_t,
        time_ns: cython.longlong,
    ) -> cython.int:
        """The segment reaches beyond ``next`` and does not begin behind it."""
        length: cython.longlong = end - at
        behind: cython.longlong = 0 if sequence == self.next else -distance(sequence, self.next)
        fresh: cython.longlong = length + missing - behind
        self.strayed_ns = 0
        self.start = at + behind if behind < length else end
        self.stop = end
        self.gap = missing if missing < fresh else fresh
        if self._held and distance(self._held[0].sequence, self.next) < fresh:
            self._stop_at_held(data, missing, time_ns)
        else:
            self.next = wrapped(sequence + length + missing)
        if self._holes:
            self._remember(data, self.start, self.stop, self.next - self.gap)
        return _DELIVER

    # --- a hole that was given up

    @cython.cfunc
    def _return_for(
        self, sequence: cython.uint, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> cython.int:
        """Go back to the lowest hole of which the segment has bytes, unless just these were delivered in it."""
        hole: Hole
        lowest: Hole | None = None
        into: cython.longlong
        for hole in self._holes:
            into = distance(sequence, hole.start)
            if at - end < into < hole.size and distance(self.next, sequence if into > 0 else hole.start) > 0:
                if hole.copy and self._is_copy(hole.copy, data, at, end, -into, hole.size):
                    continue
                if lowest is None or distance(hole.start, lowest.start) < 0:
                    lowest = hole
        if lowest is not None:
            self._return(lowest)
        return 0

    @cython.cfunc
    def _return(self, hole: Hole) -> cython.int:
        """Go back to where the hole began: what was delivered behind it is no proof that the receiver took it."""
        ahead: cython.longlong = distance(self.next, hole.start) - hole.size
        self._forget_hole(hole)
        if ahead + hole.size >= _REACH:
            return 0
        if self._seen_bytes:
            self._forget_seen()
        self.returned = True
        self.next = hole.start
        if ahead > 0:
            self._seen = wrapped(hole.start + hole.size)
            self._seen_bytes = ahead
            self._seen_copy = hole.beyond
            self.kept_bytes += len(self._seen_copy)
            self.held_bytes += _PIECE_BYTES
        return 0

    @cython.cfunc
    def _remember(
        self, data: bytes, start: cython.Py_ssize_t, stop: cython.Py_ssize_t, after: cython.longlong
    ) -> cython.int:
        """Keep the beginning of what is delivered behind the hole; *after* is behind ``data[start:stop]``."""
        hole: Hole = self._holes[len(self._holes) - 1]
        kept: cython.Py_ssize_t = len(hole.beyond)
        if kept >= _SEEN_BYTES or wrapped(hole.start + hole.size + kept + stop - start) != wrapped(after):
            return 0
        hole.beyond += data[start : min(stop, start + _SEEN_BYTES - kept)]
        self.kept_bytes += len(hole.beyond) - kept
        return 0

    @cython.cfunc
    def _add_hole(self, hole: Hole) -> cython.int:
        """Remember it; beyond a few the two oldest are taken as one, so that no byte of them is forgotten."""
        if self._holes:
            last: Hole = self._holes[len(self._holes) - 1]
            self.kept_bytes -= len(last.beyond)
            last.beyond = b""
        self._holes.append(hole)
        self.kept_bytes += len(hole.beyond) + len(hole.copy)
        if len(self._holes) > _MOST_HOLES:
            oldest: Hole = self._holes[0]
            second: Hole = self._holes[1]
            self._forget_hole(oldest)
            self._forget_hole(second)
            both: Hole = oldest.joined(second)
            if both.size < _REACH:
                self._holes.insert(0, both)
        return 0

    @cython.cfunc
    def _forget_hole(self, hole: Hole) -> cython.int:
        self._holes.remove(hole)
        self.kept_bytes -= len(hole.beyond) + len(hole.copy)
        return 0

    @cython.cfunc
    def _forget_seen(self) -> cython.int:
        """What was delivered ahead of the stream counts no more: what comes there is taken as it comes."""
        self._seen_bytes = 0
        self.kept_bytes -= len(self._seen_copy)
        self._seen_copy = b""
        self._passing = False
        self.held_bytes -= _PIECE_BYTES
        return 0

    @cython.cfunc
    def _before_seen(
        self,
        sequence: cython.uint,
        data: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        missing: cython.Py_ssize_t,
        time_ns: cython.longlong,
    ) -> cython.int:
        """A segment while something ahead was delivered already: of that it can be a copy, and need not be."""
        length: cython.longlong = end - at + missing
        first: cython.longlong = distance(self._seen, sequence)
        last: cython.longlong = first + self._seen_bytes
        tail: cython.int = _DUPLICATE
        if first < length and last > 0:  # they overlap
            if not self._is_copy(self._seen_copy, data, at, end, first, self._seen_bytes):
                self._forget_seen()
            else:
                if last < end - at:  # what lies behind waits there
                    tail = self._hold(wrapped(sequence + last), data, at + last, end, missing, time_ns)
                if first <= 0:
                    return tail
                missing = max(first - (end - at), 0)
                end = min(end, at + first)
        if distance(sequence, self.next) <= 0:
            if distance(sequence, self.next) + end - at + missing <= 0:
                return tail
            return self._deliver(sequence, data, at, end, missing, time_ns)
        return _HELD if self._hold(sequence, data, at, end, missing, time_ns) == _HELD else tail

    @cython.cfunc
    def _is_copy(
        self,
        known: bytes,
        data: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        first: cython.longlong,
        size: cython.longlong,
    ) -> cython.bint:
        """Whether the segment is the same as what was delivered from *first* of it on, *size* bytes.

        *known* is the beginning of that. What is not known is no copy; what was not captured cannot differ.
        """
        begin: cython.longlong = first if first > 0 else 0
        last: cython.longlong = min(first + size, cython.cast(cython.longlong, end - at))
        if last <= begin:
            return True
        if last - first > len(known):
            return False
        same: cython.bint = known[begin - first : last - first] == data[at + begin : at + last]
        if not same:
            self.disagreements += 1
        return same

    # --- what is held

    @cython.cfunc
    def _stop_at_held(self, data: bytes, missing: cython.Py_ssize_t, time_ns: cython.longlong) -> cython.int:
        """End the delivery where the first held piece begins, which came before: what follows is held in its turn."""
        clear: cython.longlong = distance(self._held[0].sequence, self.next)
        end: cython.Py_ssize_t = self.stop
        self.next = self._held[0].sequence
        if clear >= end - self.start:
            self.gap = clear - (end - self.start)
            return 0
        self.stop = self.start + clear
        self.gap = 0
        self._hold(self.next, data, self.stop, end, missing, time_ns)
        return 0

    @cython.cfunc
    def _hold(
        self,
        sequence: cython.uint,
        data: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        missing: cython.Py_ssize_t,
        time_ns: cython.longlong,
    ) -> cython.int:
        """Keep what of the segment no held piece covers."""
        length: cython.Py_ssize_t = end - at
        covered: cython.longlong = 0
        known: cython.longlong = 0  # as covered, with the bytes that are known not to have been captured
        limit: cython.longlong = length + missing
        fresh: list[Held] = []
        held: Held
        offset: cython.longlong
        reach: cython.longlong
        for held in self._held:
            offset = distance(held.sequence, sequence)
            if offset >= length:
                limit = min(limit, offset)
                break
            reach = offset + len(held.data)
            known = max(known, reach + held.missing)
            if reach <= covered:
                continue
            if offset > covered:
                fresh.append(self._piece(sequence, data, at, covered, offset, 0, time_ns))
                covered = offset
            self._compare(held, offset, data, at, covered, min(reach, length))
            covered = reach
        if covered < length or (covered == length and known < limit):
            fresh.append(self._piece(sequence, data, at, covered, length, max(limit - length, 0), time_ns))
        if not fresh:
            return _DUPLICATE
        if not self._held:
            self.held_since_ns = time_ns
        for held in fresh:
            self._insert(held)
        return _HELD

    @cython.cfunc
    def _piece(
        self,
        sequence: cython.uint,
        data: bytes,
        at: cython.Py_ssize_t,
        first: cython.longlong,
        last: cython.longlong,
        missing: cython.Py_ssize_t,
        time_ns: cython.longlong,
    ) -> Held:
        piece: bytes = data[at + first : at + last]
        return Held(wrapped(sequence + first), piece, missing, time_ns, self.acknowledgment)

    @cython.cfunc
    def _compare(
        self,
        held: Held,
        offset: cython.longlong,
        data: bytes,
        at: cython.Py_ssize_t,
        first: cython.longlong,
        last: cython.longlong,
    ) -> cython.int:
        """Count it where the held bytes and the segment's differ between *first* and *last* of the segment."""
        if held.data[first - offset : last - offset] != data[at + first : at + last]:
            self.disagreements += 1
        return 0

    @cython.cfunc
    def _insert(self, held: Held) -> cython.int:
        """Put it in its place; what the piece before it lacks and this one has is not missing."""
        where: cython.Py_ssize_t = len(self._held)
        while where > 0 and distance(self._held[where - 1].sequence, held.sequence) > 0:
            where -= 1
        if where > 0:
            before: Held = self._held[where - 1]
            room: cython.longlong = distance(held.sequence, before.sequence) - len(before.data)
            before.missing = min(before.missing, room)
        self._held.insert(where, held)
        self.held_bytes += len(held.data) + _PIECE_BYTES
        return 0

    @cython.ccall
    def take(self) -> Held | None:
        """The next held piece that is now in order; the caller declares its ``missing`` bytes lost behind its data."""
        while self._held and self._held[0].sequence == self.next:
            first: Held = self._held.pop(0)
            self.held_bytes -= len(first.data) + _PIECE_BYTES
            self._released = True
            self.next = wrapped(self.next + len(first.data) + first.missing)
            if self._holes:
                self._remember(first.data, 0, len(first.data), self.next - first.missing)
            if len(first.data) or first.missing:
                return first
        if self._passing:
            return self._pass_seen()
        if self._released:
            self._find_oldest()
        return None

    @cython.cfunc
    def _pass_seen(self) -> Held:
        """Go on behind what was delivered before; where something else comes for it, it is a hole like any other."""
        passed: Held = Held(self.next, b"", self._seen_bytes, self.held_since_ns, self.acknowledgment)
        passed.seen = True
        self._add_hole(Hole(self._seen, self._seen_bytes, b"", self._seen_copy))
        self.next = wrapped(self.next + self._seen_bytes)
        self._released = True
        self._forget_seen()
        return passed

    @cython.cfunc
    def _find_oldest(self) -> cython.int:
        self._released = False
        held: Held
        if self._held:
            self.held_since_ns = self._held[0].time_ns
        for held in self._held:
            self.held_since_ns = min(self.held_since_ns, held.time_ns)
        return 0

    @cython.ccall
    def skip(self) -> cython.longlong:
        """Give the hole in front of what is held up; how many bytes were missing. 0 where nothing is held."""
        if self._seen_bytes and (not self._held or distance(self._held[0].sequence, self._seen) > 0):
            self._passing = True
            return self._give_up(self._seen, self._seen_copy)
        if not self._held:
            return 0
        return self._give_up(self._held[0].sequence, b"")

    @cython.ccall
    def is_due(self, before_ns: cython.longlong, ahead_ns: cython.longlong) -> cython.bint:
        """Whether a segment waits that came at *before_ns* at the latest, or behind *ahead_ns*, by a clock set back."""
        return len(self._held) > 0 and not before_ns < self.held_since_ns <= ahead_ns

    @cython.cfunc
    def _give_up(self, sequence: cython.uint, beyond: bytes) -> cython.longlong:
        """The stream goes on at *sequence*; *beyond*: what is known to have been delivered there."""
        missing: cython.longlong = distance(sequence, self.next)
        if missing:
            self._add_hole(Hole(self.next, missing, beyond, b""))
        self.next = sequence
        return missing

    @cython.ccall
    def settle(self) -> cython.int:
        """The hole that was given up last is accounted for: there is no need to go back to it."""
        if self._holes:
            self._forget_hole(self._holes[len(self._holes) - 1])
        return 0

    @cython.ccall
    def forget_copies(self) -> cython.int:
        """Keep of holes only where they are: a copy of what came behind one is then read again."""
        hole: Hole
        for hole in self._holes:
            hole.beyond = hole.copy = b""
        self._seen_copy = b""
        self.kept_bytes = 0
        return 0

    @cython.ccall
    def age(self) -> cython.int:
        """Forget the holes so far behind that their sequence numbers may soon stand for something else."""
        hole: Hole
        for hole in list(self._holes):
            if not 0 <= distance(self.next, hole.start) < _REACH:
                self._forget_hole(hole)
        return 0

    @cython.ccall
    def restart(self, sequence: cython.uint) -> cython.int:
        """Go on at *sequence*, wherever that is; what is held is dropped. Where the stream was it can go on again."""
        hole: Hole
        self._held = []
        self._seen_bytes = 0
        self._seen_copy = b""
        self._passing = False
        self.held_bytes = self.kept_bytes = 0
        self.strayed_ns = 0
        self._left = self._left_low = self.next
        for hole in self._holes:
            if distance(hole.start, self._left_low) < 0:
                self._left_low = hole.start
        self._holes = []
        self._was_left = True
        self.next = sequence
        return 0

    @cython.ccall
    def farthest(self) -> cython.uint:
        """The number behind all that was offered, what is held included."""
        if not self._held:
            return self.next
        last: Held = self._held[len(self._held) - 1]
        return wrapped(cython.cast(cython.longlong, last.sequence) + len(last.data) + last.missing)

    @cython.ccall
    def skipped(self, sequence: cython.uint) -> cython.longlong:
        """How many bytes lie between what advance() has seen and *sequence*; fewer than none where some come again."""
        return distance(sequence, self.next) if self.started else 0

    @cython.ccall
    @cython.exceptval(-1)
    def advance(self, sequence: cython.uint, length: cython.Py_ssize_t) -> cython.bint:
        """For a direction of which not all is seen: whether the segment ends behind all that came before it."""
        stop: cython.uint = wrapped(sequence + length)
        if self.started and distance(stop, self.next) <= 0:
            return False
        self.started = True
        self.next = stop
        return True
