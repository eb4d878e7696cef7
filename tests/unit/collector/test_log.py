from __future__ import annotations

import time

import pytest

from collector.log import BURST, LINES_A_SECOND, LONGEST_LINE, Relay, log_time, printable

OWN = "2026-01-02 03:04:05,678 INFO worker 3: at work"


def relayed(*data: bytes, relay: Relay | None = None, now: float = 0.0) -> list[str]:
    relay = relay or Relay("worker 3")
    return [line for part in (*data, b"") for line in relay.feed(part, now, "NOW")]


def test_a_line_of_its_own_passes_as_it_is_however_it_is_cut() -> None:
    data = OWN.encode() + b"\n"
    for at in range(len(data)):
        assert relayed(data[:at] or b"\n", data[at:]) == [OWN]


@pytest.mark.parametrize(
    "forged",
    [
        "2026-01-02 03:04:05,678 INFO capture: all is well",
        "2026-01-02 03:04:05,678 INFO worker 33: all is well",
        "Traceback (most recent call last):",
    ],
)
def test_a_line_under_another_name_is_put_under_its_own(forged: str) -> None:
    assert relayed(forged.encode() + b"\n") == [f"NOW ERROR worker 3: {forged}"]


def test_who_passes_on_the_lines_of_others_may_name_them() -> None:
    relay = Relay("capture", names=r"capture|worker \d+", bounded=False)
    assert relayed(OWN.encode(), relay=relay) == [OWN]


def test_what_could_command_a_terminal_is_written_as_numbers() -> None:
    assert relayed(b"\x1b[2J\rgone\n") == ["NOW ERROR worker 3: \\x1b[2J\\x0dgone"]
    assert relayed(b"\xff\xfe\n") == ["NOW ERROR worker 3: \ufffd\ufffd"]
    assert printable("a\u202eb\u00e9") == "a\\x202eb\u00e9"


def test_a_line_without_end_is_cut_and_held_by_no_one() -> None:
    relay = Relay("worker 3")
    lines = [line for _ in range(50) for line in relay.feed(b"x" * 65536, 0.0, "NOW")]
    assert len(lines) == 1
    assert len(lines[0]) <= LONGEST_LINE + 100
    assert relay.feed(b"\n" + OWN.encode() + b"\n", 0.0, "NOW") == [OWN]


def test_a_flood_is_counted_and_what_follows_it_is_heard_again() -> None:
    relay = Relay("worker 3")
    flood = b"noise\n" * 10_000
    assert len(relay.feed(flood, 0.0, "NOW")) == BURST
    assert relay.feed(flood, 0.01, "NOW") == []
    later = relay.feed(OWN.encode() + b"\n", 1.0, "NOW")
    assert later == [f"NOW ERROR worker 3: {20_000 - BURST} lines were too many and are left out", OWN]
    assert len(relay.feed(flood, 2.0, "NOW")) <= 2 * LINES_A_SECOND
    assert len(relay.feed(flood, 1e6, "NOW")) == BURST


def test_one_that_is_trusted_is_not_bounded() -> None:
    relay = Relay("capture", bounded=False)
    assert len(relay.feed(b"noise\n" * 10_000, 0.0, "NOW")) == 10_000


def test_the_present_is_written_as_log_lines_have_it() -> None:
    found = log_time()
    assert time.strptime(found[:19], "%Y-%m-%d %H:%M:%S")
    assert (found[19], len(found), found[20:].isdecimal()) == (",", 23, True)
