from __future__ import annotations

from tests.support.play import exchange
from workers.mysql.events import ERROR, OK, RESULT, UNKNOWN, Exchange, Outbox
from workers.mysql.framing import Allowance
from workers.mysql.statements import Statements
from workers.mysql.unsaved import Unsaved
from workers.mysql.waiting import Waiting

QUERY = 3


def waiting(room: int = 1 << 20) -> tuple[Waiting, Outbox, Allowance]:
    outbox, allowance = Outbox(), Allowance(room)
    unsaved = Unsaved(outbox, b"")
    return Waiting(outbox, allowance, Statements(outbox, allowance, 1 << 20, unsaved), unsaved), outbox, allowance


def asked(text: bytes = b"SELECT 1", **fields: object) -> Exchange:
    return exchange(None, command=QUERY, text=text, **fields)


def test_the_oldest_is_open_and_the_others_follow_in_order() -> None:
    line, outbox, allowance = waiting()
    sent = [asked(b"%d" % number) for number in range(3)]
    for one in sent:
        line.add(one)
    assert (line.open, line.following()) == (sent[0], sent[1])
    line.finish_oldest()
    line.finish_oldest()
    assert (line.open, line.following()) == (sent[2], None)
    line.close()
    assert (line.open, outbox.finished, allowance.used) == (None, sent, 0)
    line.finish_oldest()
    assert len(outbox.finished) == 3


def test_no_more_than_64_are_waited_for_behind_the_open_one() -> None:
    line, outbox, _ = waiting()
    for _ in range(66):
        line.add(asked())
    assert len(outbox.finished) == 1


def test_without_room_the_oldest_goes_and_then_the_new_one_itself() -> None:
    line, outbox, allowance = waiting(2000)
    line.add(asked(b"x" * 800))
    line.add(asked(b"y" * 800))
    assert len(outbox.finished) == 1
    line.add(asked(b"z" * 3000))
    assert (len(outbox.finished), line.open, allowance.used) == (3, None, 0)


def test_what_succeeded_or_is_not_known_to_have_failed_moves_what_waits() -> None:
    for status, moved in ((OK, b"shop"), (RESULT, b"shop"), (UNKNOWN, b"shop"), (ERROR, None)):
        line, _, _ = waiting()
        use, behind = asked(moves_to=b"shop", sets_charset=28), [asked(), asked()]
        for one in (use, *behind):
            line.add(one)
        use.status = status
        line.finish_oldest()
        assert [line.database, *(one.database for one in behind)] == [moved] * 3
        assert line.charset == (28 if moved else 0)


def test_what_the_server_has_confirmed_holds_even_if_more_of_it_failed() -> None:
    line, _, _ = waiting()
    line.finish(asked(moves_to=b"shop", sets_charset=28, status=ERROR, confirmed=True))
    assert (line.database, line.charset) == (b"shop", 28)


def test_a_file_follows_a_load_and_what_asked_for_one() -> None:
    line, _, _ = waiting()
    assert not line.file_follows()
    line.last_query = b"SELECT 1"
    assert not line.file_follows()
    line.last_query = b" load data local infile 'x' into table t"
    assert line.file_follows()
    line.last_query = None
    line.wants_file = True
    assert line.file_follows()


def test_a_file_moves_the_sequence_id_of_the_newest_commands_answer() -> None:
    line, _, _ = waiting()
    line.behind_file(5)
    first, second = asked(), asked()
    line.add(first)
    line.behind_file(5)
    line.add(second)
    line.behind_file(9)
    assert (first.sequence, second.sequence) == (5, 9)
