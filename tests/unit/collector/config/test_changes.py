from __future__ import annotations

from dataclasses import dataclass, field

from collector.config import Config, from_mapping
from collector.config.changes import changes, live, reloaded, take_over, waiting

RUNNING = from_mapping({"capture": {"ports": [3306], "ring_mib": 8}, "store": {"url": "s3://bucket/one"}})
WANTED = from_mapping(
    {
        "capture": {"ports": [3306, 3307], "ring_mib": 16},
        "batch": {"max_age_s": 5},
        "store": {"url": "s3://bucket/two", "local_max_mib": 100},
    }
)


def test_a_configuration_does_not_differ_from_itself() -> None:
    assert changes(WANTED, WANTED) == ()
    assert reloaded(RUNNING, RUNNING) == RUNNING


def test_what_differs_is_told_in_the_order_of_the_file_and_by_when_it_takes_effect() -> None:
    found = changes(RUNNING, WANTED)
    assert [str(change) for change in live(found)] == [
        "capture.ports from [3306] to [3306, 3307]",
        "batch.max_age_s from 10.0 to 5.0",
        "store.local_max_mib from 10240 to 100",
    ]
    assert [change.key for change in waiting(found)] == ["capture.ring_mib", "store.url"]


def test_what_runs_takes_over_what_takes_effect_on_a_reload_and_nothing_else() -> None:
    found = reloaded(RUNNING, WANTED)
    assert found == from_mapping(
        {
            "capture": {"ports": [3306, 3307], "ring_mib": 8},
            "batch": {"max_age_s": 5},
            "store": {"url": "s3://bucket/one", "local_max_mib": 100},
        }
    )
    assert changes(found, WANTED) == waiting(changes(RUNNING, WANTED))


def test_a_long_value_is_cut_where_it_is_shown() -> None:
    (change,) = changes(Config(), from_mapping({"seal": {"recipients": [f"/{'x' * 200}"]}}))
    assert len(str(change)) < 120


@dataclass
class Owner:
    called: list[str] = field(default_factory=list)

    def both(self) -> None:
        self.called.append("both")

    def one(self) -> None:
        self.called.append("one")


def test_each_function_of_a_table_is_called_once_in_its_order() -> None:
    owner = Owner()
    take_over(owner, {"a": Owner.both, "b": Owner.one, "c": Owner.both, "d": None})
    assert owner.called == ["both", "one"]
