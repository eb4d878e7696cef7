from __future__ import annotations

import pytest

from workers.mysql.numbering import Numbering
from workers.mysql.prepared import Prepared


def prepared(text: bytes = b"SELECT 1") -> Prepared:
    return Prepared(text, len(text))


def begun() -> Numbering:
    """A server that has given the number 1."""
    numbering = Numbering()
    numbering.add(prepared())
    settled(numbering, 1)
    return numbering


def found(numbering: Numbering, number: int) -> list[bytes | None]:
    """The texts of those that can have the number."""
    return [run.members[index].text for run, index in numbering.candidates(number) or ()]


def settled(numbering: Numbering, number: int) -> list[tuple[bytes | None, int]]:
    (candidate,) = numbering.candidates(number) or []
    return [(one.text, one.statement_id) for one in numbering.settle(candidate, number)]


def test_where_a_server_begins_is_not_known_before_it_is_seen() -> None:
    """MariaDB goes on where the connection before left off that its thread served."""
    numbering = Numbering()
    assert [numbering.add(prepared(text)) for text in (b"a", b"b")] == [0, 0]
    assert found(numbering, 1) == [b"a"]
    assert found(numbering, 52) == [b"a", b"b"]


def test_a_statement_that_is_executed_before_another_is_prepared_tells_where_the_server_begins() -> None:
    numbering = Numbering()
    numbering.add(prepared(b"a"))
    assert settled(numbering, 52) == [(b"a", 52)]
    assert [numbering.add(prepared()) for _ in range(2)] == [53, 54]
    assert numbering.unnumbered() == []
    assert numbering.candidates(53) == []


@pytest.mark.parametrize(
    ("text", "whole", "disturbs"),
    [
        (b"SELECT 1", True, False),
        (b"SELECT 1", False, True),
        (b"PREPARE s FROM 'SELECT 1'", True, True),
        (b"/* */ execute IMMEDIATE 'SELECT 1'", True, True),
        (b"SELECT 1; Call p()", True, True),
        (b"BEGIN NOT ATOMIC p(); END", True, True),
        (b"SET NAMES utf8mb4", True, False),
    ],
)
def test_behind_what_may_have_taken_numbers_none_is_known(text: bytes, whole: bool, disturbs: bool) -> None:
    numbering = begun()
    numbering.query(text, whole)
    assert numbering.add(prepared()) == (0 if disturbs else 2)


def test_one_number_of_a_run_tells_them_all() -> None:
    numbering = begun()
    numbering.disturb()
    for text in (b"a", b"b", b"c"):
        assert numbering.add(prepared(text)) == 0
    assert found(numbering, 1) == []
    assert found(numbering, 2) == [b"a"]
    assert found(numbering, 3) == [b"a", b"b"]
    assert found(numbering, 9) == [b"a", b"b", b"c"]
    assert settled(numbering, 2) == [(b"a", 2), (b"b", 3), (b"c", 4)]
    assert numbering.add(prepared()) == 5


def test_a_run_lies_between_those_whose_numbers_are_known() -> None:
    numbering = Numbering()
    for text in (b"a", b"b", b"c"):
        numbering.disturb()
        numbering.add(prepared(text))
    assert found(numbering, 2) == [b"a", b"b"]
    assert found(numbering, 3) == [b"a", b"b", b"c"]
    candidates = numbering.candidates(3) or []
    numbering.settle(candidates[2], 3)
    assert found(numbering, 3) == []
    assert settled(numbering, 1) == [(b"a", 1)]
    assert settled(numbering, 2) == [(b"b", 2)]
    assert numbering.add(prepared()) == 4


def test_the_numbers_go_on_when_the_server_has_forgotten_the_statements() -> None:
    numbering = begun()
    numbering.disturb()
    other = prepared()
    numbering.add(other)
    assert numbering.forget() == [other]
    assert numbering.add(prepared(b"new")) == 0
    assert found(numbering, 2) == []
    assert settled(numbering, 3) == [(b"new", 3)]


def test_among_too_many_it_is_not_told() -> None:
    numbering = Numbering()
    numbering.disturb()
    for _ in range(17):
        numbering.add(prepared())
    assert numbering.candidates(16) is not None
    assert numbering.candidates(17) is None


def test_there_is_an_end_to_what_is_not_known() -> None:
    numbering = Numbering()
    runs = 0
    while not numbering.full():
        numbering.disturb()
        numbering.add(prepared())
        runs += 1
    assert runs < 1000
