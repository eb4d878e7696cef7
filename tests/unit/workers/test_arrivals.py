from __future__ import annotations

from workers.arrivals import MOST_INTERFACES, WORDS, Arrivals

HOST, OTHER_HOST, OUTGOING = 0, 3, 4


def counts(arrivals: Arrivals) -> dict[int, tuple[int, int]]:
    """Packets in and out by index, of those places that have an index, and of the first."""
    words = memoryview(bytearray(8 * WORDS * MOST_INTERFACES)).cast("Q")
    arrivals.store(words)
    rows = [words[at : at + WORDS].tolist() for at in range(0, len(words), WORDS)]
    return {index: (came, went) for index, came, went in rows if index or came or went}


def test_packets_are_counted_by_interface_and_direction() -> None:
    arrivals = Arrivals()
    for index, kind in ((2, HOST), (7, OUTGOING), (2, OUTGOING), (7, OUTGOING), (2, OTHER_HOST), (0, HOST)):
        arrivals.count(index, kind)
    assert counts(arrivals) == {2: (2, 1), 7: (0, 2), 0: (1, 0)}


def test_interfaces_beyond_its_places_are_counted_together() -> None:
    arrivals = Arrivals()
    for _ in range(2):
        for index in range(1, 100):
            arrivals.count(index, HOST)
    found = counts(arrivals)
    assert len(found) == MOST_INTERFACES
    assert found[MOST_INTERFACES - 1] == (2, 0)
    assert found[0] == (2 * (100 - MOST_INTERFACES), 0)


def test_an_index_may_be_any_number() -> None:
    arrivals = Arrivals()
    arrivals.count(2**32 - 1, 2**32 - 1)
    assert counts(arrivals) == {2**32 - 1: (1, 0)}
