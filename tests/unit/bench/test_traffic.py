"""The generated workload is what the README of bench/ says: sizes, sequence numbers, checksums, the same each time."""

from __future__ import annotations

import itertools
import shutil
import struct
import subprocess
from pathlib import Path
from random import Random

import pytest

from bench import frames, pcap, sql
from bench.traffic import Frame, Traffic, Workload, generate, timed

STATEMENTS = 1_000
TCP_AT = frames.ETHERNET_BYTES + frames.IP_BYTES


@pytest.fixture(scope="module")
def traffic() -> Traffic:
    return generate(Workload(STATEMENTS, connections=40, seed=7))


def all_frames(traffic: Traffic) -> list[Frame]:
    exchanged = [(Frame(True, exchange.request), Frame(False, exchange.answer)) for exchange in traffic.exchanges]
    return [*traffic.opening, *itertools.chain.from_iterable(exchanged), *traffic.closing]


def test_the_same_seed_makes_the_same_bytes(traffic: Traffic) -> None:
    assert generate(Workload(STATEMENTS, connections=40, seed=7)) == traffic
    assert generate(Workload(STATEMENTS, connections=40, seed=8)).exchanges[0] != traffic.exchanges[0]


def test_every_statement_is_within_the_published_sizes_and_they_spread_over_most_of_the_range() -> None:
    lengths = [len(text) for text in itertools.islice(sql.statements(Random(3)), 20_000)]
    assert sql.SHORTEST_BYTES <= min(lengths) < sql.SHORTEST_BYTES + 10
    assert sql.LONGEST_BYTES - 10 < max(lengths) <= sql.LONGEST_BYTES


def test_all_four_kinds_of_statement_occur_and_texts_hardly_repeat() -> None:
    texts = list(itertools.islice(sql.statements(Random(3)), 20_000))
    for kind in (b"SELECT ", b"INSERT INTO ", b"UPDATE ", b"DELETE FROM "):
        assert sum(text.startswith(kind) for text in texts) > 500
    assert len(set(texts)) > 19_000


def test_each_connection_has_one_statement_in_each_round(traffic: Traffic) -> None:
    for at in range(0, STATEMENTS, 40):
        assert sorted(exchange.connection for exchange in traffic.exchanges[at : at + 40]) == list(range(40))


def test_tcp_sequence_numbers_have_no_gap_and_each_side_acknowledges_all_of_the_other(traffic: Traffic) -> None:
    following: dict[tuple[int, bool], int] = {}
    for to_server, data in all_frames(traffic):
        ports = struct.unpack_from("!HH", data, TCP_AT)
        client_port = ports[0] if to_server else ports[1]
        sequence, acknowledged = struct.unpack_from("!II", data, frames.SEQUENCE_AT)
        flags = data[TCP_AT + 13]
        payload = len(data) - TCP_AT - (data[TCP_AT + 12] >> 4) * 4
        assert following.get((client_port, to_server), sequence) == sequence
        if flags & frames.ACK:
            assert acknowledged == following[client_port, not to_server]
        moved = payload + (1 if flags & (frames.SYN | frames.FIN) else 0)
        following[client_port, to_server] = (sequence + moved) & 0xFFFFFFFF
    assert len(following) == 2 * 40


def test_ip_lengths_and_header_checksums_are_right(traffic: Traffic) -> None:
    for _, data in all_frames(traffic):
        header = data[frames.ETHERNET_BYTES : TCP_AT]
        assert frames.checksum(header) == 0
        assert struct.unpack_from("!H", header, 2)[0] == len(data) - frames.ETHERNET_BYTES <= frames.MTU


def test_a_packet_over_the_mtu_is_refused() -> None:
    end = frames.Address(bytes(6), "192.0.2.1", 1)
    path = frames.Path(end, end)
    assert len(path.frame(frames.ACK, 0, 0, bytes(frames.MOST_PAYLOAD_BYTES))) == frames.MTU + frames.ETHERNET_BYTES
    with pytest.raises(ValueError, match="over the MTU"):
        path.frame(frames.ACK, 0, 0, bytes(frames.MOST_PAYLOAD_BYTES + 1))


@pytest.mark.parametrize("rate", [1_000.0, 16_000.0, 200_000.0])
def test_time_stamps_never_go_back_and_an_answer_follows_its_statement(traffic: Traffic, rate: float) -> None:
    stamped = list(timed(traffic, rate, start_ns=1))
    assert [time_ns for time_ns, _ in stamped] == sorted(time_ns for time_ns, _ in stamped)
    assert [data for _, data in stamped] == [data for _, data in all_frames(traffic)]


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_tshark_reads_the_same_statements_and_finds_nothing_wrong(traffic: Traffic, tmp_path: Path) -> None:
    capture = tmp_path / "traffic.pcap"
    pcap.write(capture, timed(traffic, 8_000, start_ns=1_760_000_000_000_000_000))
    assert tshark(capture, "tcp.analysis.flags || _ws.malformed || tcp.payload && !mysql", "frame.number") == []
    # tshark shows each byte outside ASCII as U+FFFD.
    expected = [exchange.sql.decode("ascii", "replace") for exchange in traffic.exchanges]
    assert tshark(capture, "mysql.command == 3", "mysql.query") == expected


def tshark(capture: Path, condition: str, field: str) -> list[str]:
    """The values of *field* in the packets that meet *condition*."""
    command = ["tshark", "-r", str(capture), "-Y", condition, "-T", "fields", "-e", field]
    done = subprocess.run(command, capture_output=True, check=True, text=True, encoding="utf-8")
    return done.stdout.splitlines()
