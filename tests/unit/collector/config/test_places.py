from __future__ import annotations

from collector.config.places import lines_of

TEXT = """\
# ring_mib = 1
ring_mib = 1
workers.count = 2

[capture]  # how packets leave the kernel
ring_mib = 64
  "mode" = "full"
ports = [
    3306,
]
[ 'batch' ]
#max_mib = 1
max_age_s=1
"""


def test_each_key_is_found_on_its_line() -> None:
    assert lines_of(TEXT) == {
        "ring_mib": 2,
        "workers.count": 3,
        "capture": 5,
        "capture.ring_mib": 6,
        "capture.mode": 7,
        "capture.ports": 8,
        "batch": 11,
        "batch.max_age_s": 13,
    }


def test_a_key_that_is_there_twice_has_no_line() -> None:
    assert lines_of("[a]\nx = 1\n[b]\nx = 1\n[a]\nx = 2\n") == {"b": 3, "b.x": 4}
