from __future__ import annotations

import pytest

from collector.monitor.database.account import KINDS, Account, Kind, option_file, statements
from collector.monitor.database.credentials import Credentials, parse

pytestmark = pytest.mark.either_build


@pytest.mark.parametrize("kind", KINDS)
def test_no_right_is_given_that_reads_a_table_of_data_or_changes_anything(kind: Kind) -> None:
    text = "\n".join(statements(Account(kind, "querytap", "localhost", "x")))
    assert "SELECT ON *.*" not in text
    for word in ("ALL", "SUPER", "INSERT", "UPDATE", "DELETE", "FILE", "RELOAD", "ADMIN", "GRANT OPTION"):
        assert f" {word} " not in text
    assert "MAX_USER_CONNECTIONS" in text


def test_a_password_is_quoted_and_by_socket_there_is_none() -> None:
    (made, *_) = statements(Account("mariadb", "q", "%", "a'b\\c"))
    assert made.startswith("CREATE USER 'q'@'%' IDENTIFIED BY 'a''b\\\\c' WITH")
    assert "IDENTIFIED VIA unix_socket" in next(statements(Account("mariadb", "q", "localhost", None)))
    assert "IDENTIFIED WITH auth_socket" in next(statements(Account("mysql", "q", "localhost", None)))


def test_the_option_file_is_one() -> None:
    text = "\n".join(option_file(Account("mysql", "q", "localhost", "p w")))
    assert parse(text, "x") == Credentials("q", "p w")
