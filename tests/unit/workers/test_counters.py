from __future__ import annotations

from tests.support import packets
from tests.support.packets import ACK, FIN, RST, SYN, ipv4, ipv6, tcp
from workers import counters
from workers.pipeline import Pipeline
from workers.settings import Settings


def test_every_counter_is_declared_once_with_its_meaning() -> None:
    tables = (counters.PACKETS, counters.STATEMENTS, counters.EVENTS)
    assert sum(map(len, tables)) == len(counters.MEANING) == len(counters.NAMES)
    assert tuple(name for table in tables for name in table) == counters.NAMES
    assert all(meaning.endswith(".") for meaning in counters.MEANING.values())


def test_the_counters_that_divide_up_all_packets_are_those_named_so() -> None:
    assert set(counters.PACKETS) == {name for name in counters.NAMES if name.startswith("packets_")}


def test_a_pipeline_counts_just_what_is_declared_and_in_that_order() -> None:
    pipeline = Pipeline(0, 0, Settings(ports=(packets.SERVER_PORT,)))
    assert tuple(pipeline.counters()) == counters.NAMES


def test_counters_go_into_the_shared_page_in_the_order_of_their_names() -> None:
    pipeline = Pipeline(0, 0, Settings(ports=(packets.SERVER_PORT,)))
    for data in (b"", b"\0", ipv4(tcp(b"\x01\0\0\0\x0e")), ipv4(tcp(b"\x01\0\0\0\x0e"))):
        pipeline.packet(data, 0, len(data), 1, len(data))
    page = memoryview(bytearray(8 * len(counters.NAMES))).cast("Q")
    pipeline.store_counters(page)
    assert page.tolist() == list(pipeline.counters().values())
    assert any(page)


def test_every_packet_is_counted_under_exactly_one_name() -> None:
    pipeline = Pipeline(0, 0, Settings(ports=(packets.SERVER_PORT,)))
    sent = [
        b"",
        b"\x45",
        ipv4(bytes(8), protocol=17),
        ipv4(tcp(), fragment=0x2000),
        ipv4(tcp(source=1, target=2)),
        *(ipv6(tcp(flags=flags)) for flags in (SYN, SYN, ACK, FIN | ACK, RST, ACK)),
        *(ipv4(tcp(data, sequence=sequence)) for data in (b"", b"\x01\0\0\0\x0e") for sequence in (9, 9, 90, 0)),
        *(ipv4(tcp(data, source=packets.SERVER_PORT, target=7)) for data in (b"", b"\x01\0\0\x01\0")),
    ]
    for number, data in enumerate(sent, start=1):
        pipeline.packet(data, 0, len(data), number, len(data))
        assert sum(value for name, value in pipeline.counters().items() if name in counters.PACKETS) == number
