from __future__ import annotations

from collector.reading.signers import Signers


def test_each_further_instance_of_a_host_is_told_once() -> None:
    signers = Signers()
    assert signers.note("db1", "a") is None
    assert signers.note("db1", "a") is None
    assert signers.note("db2", "b") is None
    said = signers.note("db1", "b")
    assert said is not None
    assert "host db1: a, b;" in said
    assert signers.note("db1", "b") is None
