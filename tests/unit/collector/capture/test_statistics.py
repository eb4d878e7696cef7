from __future__ import annotations

import pytest

from collector.capture.sockets import KernelCounters
from collector.capture.statistics import MOST_STATEMENTS_A_PACKET, KernelTotals, record, traffic
from collector.channel import unpack
from workers import counters


def test_what_the_kernel_sets_back_to_zero_is_summed_up() -> None:
    totals = KernelTotals()
    totals.add(KernelCounters(passed=2**32 - 1, dropped=3, freezes=1))
    totals.add(KernelCounters(passed=10, dropped=4, freezes=0))
    found = record(1, 2, totals, [0] * len(counters.NAMES))
    assert (found.kernel_passed, found.kernel_dropped, found.ring_freezes) == (2**32 + 9, 7, 1)


def test_every_counter_of_packets_goes_into_the_sum_and_no_other() -> None:
    page = [1 << number for number in range(len(counters.NAMES))]
    totals = KernelTotals()
    totals.add(KernelCounters(passed=2**63, dropped=0, freezes=0))
    found = record(0, 0, totals, page, ended=True, final=True)
    expected = sum(1 << number for number, name in enumerate(counters.NAMES) if name.startswith("packets_"))
    assert found.page_packets == expected
    assert found.page_statements == page[counters.NAMES.index("statements_decoded")]
    assert found.ended
    assert found.final


@pytest.mark.parametrize("forged", [2**64 - 1, 2**63, 91])
def test_a_page_full_of_forged_counters_claims_no_more_than_the_kernel_gave(forged: int) -> None:
    totals = KernelTotals()
    totals.add(KernelCounters(passed=100, dropped=10, freezes=0))
    found = record(0, 1, totals, [forged] * len(counters.NAMES), before=30)
    assert unpack(found.pack()) == found
    assert found.page_packets == 60
    assert found.page_statements <= 60 * MOST_STATEMENTS_A_PACKET


def test_a_page_cannot_claim_statements_without_packets() -> None:
    found = record(0, 1, KernelTotals(), [2**64 - 1] * len(counters.NAMES))
    assert (found.page_packets, found.page_statements) == (0, 0)


def test_packets_by_interface_are_told_when_they_change_and_in_the_end() -> None:
    counted = {"lo": (5, 0), "eth0": (1, 2)}
    first = list(traffic(3, 4, counted, {}))
    assert [(one.worker, one.incarnation, one.interface, one.incoming, one.outgoing) for one in first] == [
        (3, 4, "lo", 5, 0), (3, 4, "eth0", 1, 2),
    ]  # fmt: skip
    assert [one.interface for one in traffic(3, 4, counted, {**counted, "lo": (4, 0)})] == ["lo"]
    assert [one.final for one in traffic(3, 4, counted, counted, final=True)] == [True, True]
