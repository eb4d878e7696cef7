"""Opens the sockets of all workers: by which method, on which interface, in one group. What was chosen can be told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from collector.capture import fanout, sockets
from collector.capture.methods import METHODS
from collector.capture.sockets import MethodError, PacketSocket, Shape

AUTO: Final = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the configuration asks for."""

    workers: int = 1
    shape: Shape
    method: str = AUTO
    interface: int = 0
    """Index of the interface to bind to, 0 for all."""
    fanout: str = fanout.AUTO
    defragment: bool = False
    """Let the kernel put fragments of IPv4 together."""


@dataclass(frozen=True, slots=True)
class Group:
    """The sockets of all workers, none of which lets anything pass yet."""

    members: Sequence[PacketSocket]
    notes: Sequence[str]
    """How packets are taken and why so, for the log and the status: a sentence each."""


def open_group(wanted: Wanted) -> Group:
    """Open a socket a worker, bind it, and put them into one group.

    StartError when the rights are missing or no method is left; InterfaceError when the interface is gone, or down and
    the kernel does not take that.
    """
    kind, why = fanout.choose(wanted.fanout) if wanted.workers > 1 else (fanout.HASH, "")
    opened, note = _by_some_method(wanted)
    try:
        for one in opened:
            sockets.bind(one.fd, wanted.interface)
        if len(opened) > 1 or wanted.defragment:
            fanout.join([one.fd for one in opened], wanted.interface, kind, defragment=wanted.defragment)
        for one in opened:
            one.take_counters()
    except BaseException:
        _close(opened)
        raise
    return Group(opened, [note, *filter(None, [why])])


def _by_some_method(wanted: Wanted) -> tuple[list[PacketSocket], str]:
    reasons: list[str] = []
    for method in METHODS:
        doubt = method.unsound()
        if wanted.method == method.METHOD:
            opened = _open(method, wanted)
            return opened, f"{_described(opened)}, as capture.method says{f', though {doubt}' if doubt else ''}"
        if wanted.method != AUTO:
            continue
        if doubt:
            reasons.append(f"{method.METHOD} is out: {doubt}")
            continue
        try:
            opened = _open(method, wanted)
        except MethodError as error:
            reasons.append(f"{method.METHOD} is out: {str(error).splitlines()[0]}")
            continue
        return opened, f"{_described(opened)}: {'; '.join(reasons) or 'the first choice, and this kernel has it'}"
    raise MethodError(f"packets can be captured in no way here: {'; '.join(reasons)}")


def _open(method: type[PacketSocket], wanted: Wanted) -> list[PacketSocket]:
    opened: list[PacketSocket] = []
    try:
        for _ in range(wanted.workers):
            opened.append(method.open(wanted.shape))  # noqa: PERF401  # those that are open are closed where one is not
    except BaseException:
        _close(opened)
        raise
    return opened


def _described(opened: Sequence[PacketSocket]) -> str:
    first = opened[0]
    return f"method {first.METHOD}, {first.block_count} blocks of {first.block_bytes >> 10} KiB a worker"


def _close(opened: Sequence[PacketSocket]) -> None:
    for one in opened:
        one.close()
