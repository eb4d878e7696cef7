from __future__ import annotations

import pytest

from collector.cli.main import main

pytestmark = pytest.mark.either_build


def test_it_prints_sql_with_a_password_of_its_own_each_time(capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for _ in range(2):
        assert main(["grant", "--kind", "mysql", "--host", "127.0.0.1"]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] != texts[1]
    assert "CREATE USER 'querytap'@'127.0.0.1' IDENTIFIED BY '" in texts[0]
    assert all(line.startswith("--") or ";" in line for line in texts[0].splitlines())


def test_by_socket_there_is_no_password(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grant", "--socket", "--user", "querytap-monitor"]) == 0
    assert capsys.readouterr().out.startswith("CREATE USER 'querytap-monitor'@'localhost' IDENTIFIED VIA unix_socket")


def test_a_name_that_would_be_more_than_a_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["grant", "--user", "x'; DROP"])
    assert "no name" in capsys.readouterr().err
