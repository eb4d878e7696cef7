from __future__ import annotations

import pytest

from collector.aggregator.admission import refusal
from collector.aggregator.ledger import Ledger
from collector.archive.heads import read_head
from collector.archive.layout import pack_header, unpack_header
from tests.unit.collector.aggregator.making import head, header
from workers.blocks import BlockBuilder
from workers.counters import NAMES
from workers.pipeline import Pipeline
from workers.settings import Settings


def test_what_a_worker_sends_is_taken() -> None:
    sent, body = Pipeline(3, 0, Settings(ports=(3306,))).take_block(0, final=True)
    assert refusal(read_head(sent, len(body)), 3) is None
    counted = dict.fromkeys((*NAMES, "statements_filtered"), 1)
    sent, body = BlockBuilder(0, 0, counted).take(counted, final=False)
    assert refusal(read_head(sent, len(body)), 0) is None


def test_a_block_in_the_name_of_another_worker_is_refused() -> None:
    assert refusal(head(worker=1), 0) == "a head that names another worker"


@pytest.mark.parametrize("name", ["packets_made_up", "x"])
@pytest.mark.parametrize("where", ["before", "after"])
def test_a_counter_that_no_worker_has_is_refused_without_its_name(name: str, where: str) -> None:
    said = refusal(head(**{"after": {name: 1}, where: {name: 1}}), 0)
    assert said == "a head with a counter that no worker has"


def test_headers_stay_readable_however_many_names_a_worker_makes_up() -> None:
    ledger = Ledger(1)
    for sequence in range(60):
        for incarnation in (0, 1):
            forged = head(
                incarnation=incarnation,
                sequence=sequence,
                after={f"packets_{incarnation}_{sequence}_{number}": 1 for number in range(128)},
            )
            if refusal(forged, 0) is None:
                ledger.take_block(forged)
    made = header(frames=(17,), ledger={"workers": {"0": ledger.view()[0].as_map()}})
    assert unpack_header(pack_header(made)) == made
