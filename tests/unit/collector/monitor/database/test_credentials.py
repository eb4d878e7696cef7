from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from collector.monitor.database import credentials
from collector.monitor.database.credentials import Credentials, CredentialsError, parse

pytestmark = pytest.mark.either_build

FILE = """
# a comment
[mysqld]
skip-networking
[client]
user = "querytap"
password='a = b # c'
[127.0.0.1:3307]
password = 100%other
ssl_ca = /etc/ca.pem
"""


def test_a_server_has_its_own_section_over_that_of_all() -> None:
    assert parse(FILE, "127.0.0.1:3306") == Credentials("querytap", "a = b # c")
    assert parse(FILE, "127.0.0.1:3307") == Credentials("querytap", "100%other", "/etc/ca.pem")
    assert parse("", "x") == Credentials("")


def test_what_is_no_option_file_is_told_without_its_content() -> None:
    with pytest.raises(CredentialsError) as error:
        parse("secret\n", "x")
    assert "secret" not in str(error.value)
    assert "secret" not in repr(Credentials("u", "secret"))


def test_without_a_file_it_is_the_user_of_this_process(tmp_path: Path) -> None:
    assert credentials.read("", "x") == Credentials(pwd.getpwuid(os.geteuid()).pw_name)
    file = tmp_path / "my.cnf"
    file.write_text(FILE)
    assert credentials.read(str(file), "x").user == "querytap"
    with pytest.raises(CredentialsError, match="No such file"):
        credentials.read(str(tmp_path / "other"), "x")
    file.write_bytes(b"\xff")
    with pytest.raises(CredentialsError, match="UTF-8"):
        credentials.read(str(file), "x")
