from __future__ import annotations

from collector.reading.signers import Signers
from tests.unit.collector.aggregator.making import header


def test_each_further_instance_of_a_host_is_told_once() -> None:
    signers = Signers()
    assert signers.note(header(instance="a")) is None
    assert signers.note(header(instance="a")) is None
    assert signers.note(header(instance="b", host="db2")) is None
    said = signers.note(header(instance="b"))
    assert said is not None
    assert "host db1: a, b;" in said
    assert signers.note(header(instance="b")) is None
