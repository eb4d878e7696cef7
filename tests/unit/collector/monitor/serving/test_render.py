from __future__ import annotations

from collections.abc import Iterable

import pytest
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from collector.monitor.families import Family, Reading
from collector.monitor.serving.render import page

pytestmark = pytest.mark.either_build

OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"
COUNT = Family("made_up_total", "counter", "Counted.", ("what",))
LEVEL = Family("level", "gauge", "Of a thing.")
ANY = Family("status_*", "unknown", "What a server says.", ("server",))
READINGS = (
    Reading(COUNT, 3, ("a",)),
    Reading(LEVEL, 0.5),
    Reading(COUNT, 4, ('quoted " \\ \n é',)),
    Reading(ANY, 1, ("x",), ending="uptime"),
    Reading(LEVEL, 7),
)


def parsed(text: str) -> Iterable[Metric]:
    """As Prometheus would read it."""
    found: Iterable[Metric] = text_string_to_metric_families(text)  # type: ignore[no-untyped-call]  # it has no types
    return found


def test_openmetrics_has_all_readings_of_a_family_together_and_ends() -> None:
    found = page(READINGS, OPENMETRICS)
    assert found.content_type.startswith("application/openmetrics-text")
    text = found.body.decode()
    assert text.endswith("# EOF\n")
    families = {family.name: family for family in parsed(text)}
    assert [(sample.labels, sample.value) for sample in families["made_up"].samples] == [
        ({"what": "a"}, 3), ({"what": 'quoted " \\ \n é'}, 4),
    ]  # fmt: skip
    assert families["status_uptime"].type == "unknown"
    assert families["level"].samples[0].value == 0.5, "the first of two of one name and labels"


def test_who_asks_for_nothing_gets_the_older_format_with_the_same_names() -> None:
    found = page(READINGS, "")
    assert found.content_type.startswith("text/plain")
    text = found.body.decode()
    assert "# TYPE made_up_total counter" in text
    assert 'made_up_total{what="a"} 3.0' in text
    assert "# TYPE status_uptime untyped" in text
    assert "# EOF" not in text
