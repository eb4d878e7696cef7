from __future__ import annotations

import dataclasses
import datetime
import math
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.config import option as options
from collector.config.option import Check, Kind, Option, convert, toml


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    size_mib: int = options.option(4, "Size of it.", unit="MiB", applies="reload", check=options.between(1, 8))
    names: tuple[str, ...] = options.option(
        (), "Names of it.", applies="restart", check=options.each(options.one_of("a", "b")), example=("a",)
    )


def test_a_declared_field_is_an_ordinary_default_and_a_described_option() -> None:
    assert Owner() == Owner(size_mib=4, names=())
    size, names = options.options_of("part", Owner)
    assert size == Option("part", "size_mib", Kind.INTEGER, 4, "Size of it.", "MiB", size.check, "reload", None)
    assert size.key == "part.size_mib"
    assert (names.kind, names.default, names.unit, names.applies, names.example) == (
        Kind.TEXTS, (), "", "restart", ("a",),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "raw", "value"),
    [
        (Kind.INTEGER, 3, 3),
        (Kind.NUMBER, 3, 3.0),
        (Kind.NUMBER, 2.5, 2.5),
        (Kind.NUMBER, 10**400, math.inf),
        (Kind.TEXT, "", ""),
        (Kind.INTEGERS, [1, 2], (1, 2)),
        (Kind.INTEGERS, (), ()),
        (Kind.TEXTS, ["a"], ("a",)),
    ],
)
def test_a_value_of_the_right_type_is_taken(kind: Kind, raw: object, value: object) -> None:
    taken = convert(kind, raw)
    assert taken == value
    assert type(taken) is type(value)


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        (Kind.INTEGER, 3.0),
        (Kind.INTEGER, True),
        (Kind.INTEGER, "3"),
        (Kind.NUMBER, False),
        (Kind.NUMBER, "1"),
        (Kind.TEXT, 1),
        (Kind.TEXT, ["a"]),
        (Kind.INTEGERS, 3306),
        (Kind.INTEGERS, [3306, "3307"]),
        (Kind.INTEGERS, [True]),
        (Kind.TEXTS, "eth0"),
        (Kind.TEXTS, ["eth0", 1]),
        (Kind.TEXTS, {"eth0": 1}),
    ],
)
def test_a_value_of_another_type_is_not_taken(kind: Kind, raw: object) -> None:
    assert convert(kind, raw) is None


@given(
    st.recursive(
        st.booleans()
        | st.integers(-(2**63), 2**63 - 1)
        | st.floats(allow_nan=False)
        | st.text(st.characters(exclude_characters="\x7f", exclude_categories=["Cs"])),
        st.lists,
        max_leaves=5,
    )
)
def test_a_value_written_as_toml_reads_back_as_itself(value: object) -> None:
    assert tomllib.loads(f"value = {toml(value)}")["value"] == value


def test_values_of_other_toml_types_can_be_shown() -> None:
    assert toml({"a": [1], "b": {}}) == "{a = [1], b = {}}"
    assert toml(datetime.date(2024, 2, 29)) == "2024-02-29"


def test_an_integer_too_long_for_decimal_is_shown_in_hexadecimal() -> None:
    assert toml(16**5000) == "0x1" + "0" * 5000


@pytest.mark.parametrize("value", [1, 4096, 1.5])
def test_bounds_include_both_ends(value: float) -> None:
    assert options.between(1, 4096).problem(value) is None


@pytest.mark.parametrize("value", [0, 4097, -1, math.nan, math.inf])
def test_a_number_outside_its_bounds_is_told_the_bounds(value: float) -> None:
    assert options.between(1, 4096).problem(value) == "must be between 1 and 4096"


def test_a_word_that_is_not_available_yet_is_told_apart_from_an_unknown_one() -> None:
    check = options.one_of("none", "first", later=("all",))
    assert check.bounds == '"none" or "first"'
    assert check.problem("first") is None
    assert check.problem("all") == 'not available yet; must be "none" or "first"'
    assert check.problem("frist") == 'must be "none" or "first"'


def test_a_list_names_the_item_that_is_wrong_or_repeated() -> None:
    check = options.each(options.between(1, 9), most=2)
    assert check.bounds == "each 1 to 9, at most 2 of them"
    assert check.problem((1, 2)) is None
    assert check.problem((1, 2, 3)) == "has 3 entries, and there can be 2"
    check = options.each(options.between(1, 9))
    assert check.bounds == "each 1 to 9"
    assert check.problem(()) is None
    assert check.problem((1, 9, 2)) is None
    assert check.problem((1, 10)) == "10 must be between 1 and 9"
    assert check.problem((1, 2, 1)) == "1 is there twice"


@pytest.mark.parametrize(
    ("check", "value"),
    [
        (options.absolute_path(), "/"),
        (options.absolute_path(), "/srv/with space/é"),
        (options.absolute_path(4), "/abc"),
        (options.interface_name(), "eth0.100"),
        (options.interface_name(), "a23456789012345"),
        (options.user_name(), ""),
        (options.user_name(), "_query-tap.1"),
        (options.user_name(), "host$"),
        (options.network(), "10.1.2.3"),
        (options.network(), "10.0.0.0/8"),
        (options.network(), "2001:db8::/32"),
        (options.name_in("command", {"query"}), "query"),
        (options.wire_name(), "naïve user"),
        (options.store_url("file", "s3"), ""),
        (options.store_url("file", "s3"), "/srv/archive"),
        (options.store_url("file", "s3"), "file:///srv/archive"),
        (options.store_url("file", "s3"), "s3://bucket"),
        (options.store_url("file", "s3"), "s3://bucket/folder"),
        (options.server_url(), "https://ceph.example.net:8443"),
        (options.server_url(), "http://[::1]:80/"),
        (options.region_name(), "eu-central-1"),
        (options.empty_or(options.region_name()), ""),
        (options.empty_or(options.region_name()), "eu"),
    ],
)
def test_a_well_formed_text_passes(check: Check, value: str) -> None:
    assert check.problem(value) is None


@pytest.mark.parametrize(
    ("check", "value", "problem"),
    [
        (options.absolute_path(), "", "must be an absolute path"),
        (options.absolute_path(), "srv/x", "must be an absolute path"),
        (options.absolute_path(), "/srv\0x", "must be an absolute path"),
        (options.absolute_path(4), "/abé", "must be at most 4 bytes long"),
        (options.interface_name(), "", "is no interface name"),
        (options.interface_name(), "a234567890123456", "is no interface name"),
        (options.interface_name(), "eth0:1", "is no interface name"),
        (options.interface_name(), "..", "is no interface name"),
        (options.interface_name(), "eth\x07", "is no interface name"),
        (options.interface_name(), "any", "is no interface; leave the list empty for all"),
        (options.server_url(), "", "must be https:// and a host, perhaps with a port and a path"),
        (options.server_url(), "https://user:hush@host", "must be https:// and a host, perhaps with a port and a path"),
        (options.server_url(), "host:80", "must be https:// and a host, perhaps with a port and a path"),
        (options.region_name(), "eu central", "must be a region's name"),
        (options.empty_or(options.absolute_path()), "ca.pem", "must be an absolute path"),
        (options.user_name(), "root:x", "must be a user's name"),
        (options.network(), "10.0.0.1/8", "must be an address or a network: 10.0.0.1/8 has host bits set"),
        (options.name_in("command", {"quit", "query"}), "select", "is no command; there are query, quit"),
        (options.wire_name(), "", "must be a name"),
        (options.user_name(), "0", "must be a user's name"),
        (options.user_name(), "a" * 33, "must be a user's name"),
        (options.store_url("file", "s3"), "archive", "must be an absolute path or begin with one of file://, s3://"),
        (options.store_url("file", "s3"), "ftp://h", "must be an absolute path or begin with one of file://, s3://"),
        (options.store_url("file", "s3"), "/srv\0", "must have printable characters alone"),
        (options.store_url("file", "s3"), "s3://key:secret@bucket", "must not carry a password, key or query"),
        (options.store_url("file", "s3"), "s3://bucket?secret=1", "must not carry a password, key or query"),
        (options.store_url("file", "s3"), "s3:///folder", "must name a bucket: s3://bucket/folder"),
        (
            options.store_url("file", "s3"),
            "file://srv/archive",
            "must have three slashes and a path: file:///srv/archive",
        ),
        (options.store_url("file", "s3"), "file:///", "must have three slashes and a path: file:///srv/archive"),
    ],
)
def test_a_malformed_text_is_told_what_is_wrong(check: Check, value: str, problem: str) -> None:
    assert check.problem(value) == problem


def test_a_path_says_its_limit_only_where_it_is_a_special_one() -> None:
    assert options.absolute_path().bounds == "an absolute path"
    assert options.absolute_path(85).bounds == "an absolute path, at most 85 bytes"


@pytest.mark.parametrize(("value", "allowed"), [(64, False), (128, True), (192, False), (4096, True), (8192, False)])
def test_a_power_of_two_has_bounds_and_no_other_bit(value: int, allowed: bool) -> None:
    assert (options.power_of_two(128, 4096).problem(value) is None) == allowed


def test_an_address_to_listen_at_has_a_port_and_brackets_where_it_has_colons() -> None:
    assert options.split_address("127.0.0.1:80") == ("127.0.0.1", 80)
    assert options.split_address("[::1]:9893") == ("::1", 9893)
    check = options.listen_address()
    assert check.problem("0.0.0.0:1") is None
    for wrong in (
        "",
        "9893",
        ":9893",
        "localhost:9893",
        "::1:9893",
        "[127.0.0.1:1",
        "1.2.3.4:0",
        "1.2.3.4:65536",
        "1.2.3.4:x",
    ):
        assert check.problem(wrong) is not None, wrong


def test_a_server_is_a_host_with_a_port_or_the_path_of_a_socket() -> None:
    assert options.split_server("db1.example.net:3306") == ("db1.example.net", 3306)
    assert options.split_server("[::1]:3306") == ("::1", 3306)
    assert options.split_server("/run/mysqld.sock") == "/run/mysqld.sock"
    check = options.server_address()
    assert check.problem("127.0.0.1:3306") is None
    for wrong in ("", "localhost", "x:0", "x:65536", "a b:1", "::1:3306", "/" + "x" * 107, "/run/\n"):
        assert check.problem(wrong) is not None, wrong
