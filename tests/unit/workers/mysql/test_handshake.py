from __future__ import annotations

import pytest

from tests.support import mysql_packets as mysql
from workers.mysql import handshake
from workers.mysql.errors import StreamViolation


def behind_header(packet: bytes) -> tuple[bytes, int, int]:
    """The payload of a packet, with other bytes around it, and where it is."""
    return b"\xff" + packet[4:] + b"\xff" * 10, 1, 1 + len(packet) - 4


def test_a_greeting_has_all_its_capability_bits() -> None:
    assert handshake.greeting(*behind_header(mysql.greeting(capabilities=0xFFFFFFFF))).capabilities == 0xFFFFFFFF
    assert handshake.greeting(*behind_header(mysql.greeting(capabilities=0x80000001))).capabilities == 0x80000001


def test_a_greeting_that_ends_behind_the_lower_capabilities_is_read() -> None:
    payload = mysql.greeting(capabilities=0x8001)[4:]
    end = 1 + len(b"8.0.36\0") + 4 + 8 + 1 + 2
    assert handshake.greeting(payload, 0, end) == handshake.Greeting(b"8.0.36", 7, 0x8001)


@pytest.mark.parametrize(
    "payload",
    [b"", b"\x0b8.0\0\x01\0\0\0", b"\x0a8.0.36", b"\x0a8.0.36\0\x01\0\0", b"\x0a8.0.36\0\x01\0\0\0scramble\0\x01"],
)
def test_what_is_no_whole_greeting_is_a_violation(payload: bytes) -> None:
    with pytest.raises(StreamViolation):
        handshake.greeting(payload + bytes(50), 0, len(payload))


@pytest.mark.parametrize(
    "capabilities",
    [
        mysql.PROTOCOL_41,
        mysql.PROTOCOL_41 | mysql.SECURE_CONNECTION,
        mysql.PROTOCOL_41 | mysql.SECURE_CONNECTION | mysql.PLUGIN_AUTH,
        mysql.PROTOCOL_41 | mysql.PLUGIN_AUTH_LENENC | mysql.PLUGIN_AUTH,
    ],
)
@pytest.mark.parametrize("proof", [b"", b"p" * 20, b"p" * 250])
@pytest.mark.parametrize("database", [None, b"", b"shop"])
@pytest.mark.parametrize("pairs", [None, {}, {"program_name": "till", "é": "x" * 300}])
def test_a_login_is_read_whatever_it_is_made_of(
    capabilities: int, proof: bytes, database: bytes | None, pairs: dict[str, str] | None
) -> None:
    packet = mysql.login(b"app", database=database, capabilities=capabilities, proof=proof, pairs=pairs)
    login = handshake.login(*behind_header(packet))
    assert (login.user, login.database, login.charset) == (b"app", database or None, mysql.UTF8MB4)
    assert handshake.pairs(login.attributes) == (pairs or {})


@pytest.mark.parametrize(("database", "expected"), [(None, None), (b"", None), (b"shop", b"shop")])
def test_a_login_320_is_read(database: bytes | None, expected: bytes | None) -> None:
    login = handshake.login(*behind_header(mysql.login_320(b"old", database=database)))
    assert (login.user, login.database, login.attributes, login.charset) == (b"old", expected, b"", 0)


def test_a_user_without_its_nul_ends_with_the_packet() -> None:
    payload = mysql.login_320(b"old")[4:-6]
    assert handshake.login(payload + b"more", 0, len(payload)).user == b"old"


def test_a_login_that_is_cut_before_its_user_ends_is_a_violation() -> None:
    whole = mysql.login(b"app", proof=b"p" * 20)[4:]
    user_end = 32 + 4
    for end in range(user_end):
        with pytest.raises(StreamViolation):
            handshake.login(whole, 0, end)


def test_of_a_login_that_is_cut_behind_its_user_the_user_is_known() -> None:
    whole = mysql.login(b"app", proof=b"p" * 20, database=b"shop")[4:]
    for end in range(32 + 4, 32 + 4 + 21):
        login = handshake.login(whole, 0, end)
        assert (login.user, login.database, login.attributes, login.charset) == (b"app", None, b"", mysql.UTF8MB4)


def test_attributes_that_leave_the_login_are_not_known() -> None:
    whole = mysql.login(database=b"shop", pairs={"a": "b"})[4:]
    for damaged in (whole[:-1], whole[:-5] + b"\xfb\0\0\0\0", whole[:-5] + b"\xfc"):
        login = handshake.login(damaged + bytes(9), 0, len(damaged))
        assert (login.user, login.database, login.attributes) == (b"app", b"shop", b"")


def test_a_request_for_tls_is_told_from_a_login() -> None:
    assert handshake.asks_for_tls(*behind_header(mysql.ssl_request()))
    assert not handshake.asks_for_tls(*behind_header(mysql.login()))
    assert not handshake.asks_for_tls(mysql.ssl_request()[4:], 0, 31)
    assert not handshake.asks_for_tls(b"\x00\x02" + bytes(30), 0, 32)
    assert handshake.asks_for_tls(b"\x00\x08\0\0\x01", 0, 5), "protocol 320: capabilities and packet size"
    assert not handshake.asks_for_tls(b"\x00\x08\0\0", 2, 6), "leaves the buffer"


def test_a_login_is_recognised_by_its_filler() -> None:
    assert handshake.looks_like_login(*behind_header(mysql.login()))
    assert not handshake.looks_like_login(*behind_header(mysql.query(b"SELECT " + b"x" * 50)))
    assert not handshake.looks_like_login(mysql.login()[4:], 0, 35)
    assert not handshake.looks_like_login(bytes(60), 0, 60), "no PROTOCOL_41"


def test_change_user_is_read() -> None:
    packet = mysql.change_user(b"root", proof=b"\0" * 20, database=b"shop", charset=0x1FF, pairs={"a": "b"})
    capabilities = mysql.CLIENT_CAPABILITIES | mysql.CONNECT_ATTRS
    data, at, end = behind_header(packet)
    login = handshake.change_user(data, at + 1, end, capabilities)
    assert (login.user, login.database, login.charset) == (b"root", b"shop", 0x1FF)
    assert handshake.pairs(login.attributes) == {"a": "b"}
    assert login.capabilities == capabilities


def test_change_user_of_an_old_client_is_read() -> None:
    payload = b"root\0oldproof\0shop\0"
    login = handshake.change_user(payload + b"more", 0, len(payload), mysql.PROTOCOL_41)
    assert (login.user, login.database, login.charset, login.attributes) == (b"root", b"shop", 0, b"")


@pytest.mark.parametrize("payload", [b"root\0", b"root", b"root\0\x14short", b"root\0\x05proo"])
def test_change_user_that_is_cut_short_is_a_violation(payload: bytes) -> None:
    with pytest.raises(StreamViolation):
        handshake.change_user(payload + bytes(30), 0, len(payload), 0)


@pytest.mark.parametrize("attributes", [b"\x01a", b"\x01a\x02b", b"\xfb", b"\x05abc", b"\xfc\x01"])
def test_attributes_that_are_no_pairs_are_a_violation(attributes: bytes) -> None:
    with pytest.raises(StreamViolation):
        handshake.pairs(attributes)


def test_attributes_that_are_no_utf_8_keep_their_place() -> None:
    assert handshake.pairs(b"\x01\xff\x01\xfe") == {"\N{REPLACEMENT CHARACTER}": "\N{REPLACEMENT CHARACTER}"}


def test_what_is_kept_of_a_login_is_small_whatever_was_sent() -> None:
    packet = mysql.login(b"u" * 5000, database=b"d" * 5000, pairs={"a": "x" * 70_000})
    login = handshake.login(*behind_header(packet))
    assert (login.user, login.database, login.attributes) == (b"u" * 1024, b"d" * 1024, b"")
    assert handshake.greeting(*behind_header(mysql.greeting(version=b"v" * 5000))).version == b"v" * 1024
