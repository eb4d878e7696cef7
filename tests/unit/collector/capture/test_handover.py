from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from collector.capture import handover
from collector.capture.handover import Group, Heritage, Progress, Ring, UnfitError
from collector.config import Config

HERITAGE = Heritage(
    boot="b00t",
    generation=3,
    settings=handover.settings_of(Config()),
    groups=[
        Group(
            place="own",
            namespace=4026531840,
            interface=0,
            method="ring",
            fanout=7,
            notes=["in some way"],
            rings=[Ring(worker, 100 + worker, 1 << 20, 64) for worker in range(2)],
        )
    ],
)
PROGRESS = Progress(
    incarnation=3 << 16, passed=10, dropped=1, freezes=1, taken_before=5, interfaces={1: (3, 0), 2: (1, 1)}
)


def memory(*written: tuple[int, bytes]) -> bytes:
    found = bytearray(handover.size(64))
    for at, data in written:
        found[at : at + len(data)] = data
    return bytes(found)


def test_heritage_and_progress_come_back_as_they_were_packed() -> None:
    found = memory((0, handover.pack_heritage(HERITAGE)), (handover.place_of(1), handover.pack_progress(PROGRESS)))
    assert handover.unpack_heritage(found) == HERITAGE
    assert handover.unpack_progress(found, 1) == PROGRESS


def test_what_a_longer_text_left_behind_a_shorter_one_is_not_read() -> None:
    place = handover.place_of(0)
    shorter = handover.pack_progress(Progress())
    found = memory((place, handover.pack_progress(PROGRESS)), (place, shorter))
    assert handover.unpack_progress(found, 0) == Progress()


def test_progress_stays_in_its_place_however_many_interfaces_there_were() -> None:
    many = replace(PROGRESS, interfaces=dict.fromkeys(range(1 << 10), (1 << 60, 1 << 60)))
    found = handover.pack_progress(many)
    assert len(found) <= handover.place_of(1) - handover.place_of(0)
    assert handover.unpack_progress(memory((handover.place_of(0), found)), 0) == replace(PROGRESS, interfaces={})


def test_the_rings_of_as_many_workers_as_there_can_be_fit() -> None:
    rings = [Ring(worker, (1 << 64) - 1, 1 << 30, 1 << 20) for worker in range(64)]
    groups = [
        replace(HERITAGE.groups[0], rings=rings[at : at + 1], place="/run/netns/" + "x" * 100) for at in range(64)
    ]
    handover.pack_heritage(replace(HERITAGE, groups=groups))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not readable"),
        (b"[]\n", "not readable"),
        (b"{}\n", "of another version"),
        (b'{"format": 1}\n', "does not say what it is"),
        (b'{"format": 1, "groups": [{}], "boot": "", "generation": 0, "settings": {}}\n', "does not say what it is"),
    ],
)
def test_what_is_no_heritage_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(UnfitError, match=said):
        handover.unpack_heritage(memory((0, data)))


@pytest.mark.parametrize(
    "data", [b"", b"{}\n", b'{"interfaces": {}, "passed": "many"}\n', b'{"interfaces": {"1": 2}}\n']
)
def test_what_is_no_progress_is_refused(data: bytes) -> None:
    with pytest.raises(UnfitError, match="readable"):
        handover.unpack_progress(memory((handover.place_of(2), data)), 2)


@pytest.mark.parametrize(
    ("section", "changes", "same"),
    [
        ("capture", {"ring_mib": 32}, False),
        ("capture", {"interfaces": ("lo",)}, False),
        ("workers", {"count": 3}, False),
        ("capture", {"ports": (3307,)}, True),
        ("batch", {"max_age_s": 1.0}, True),
    ],
)
def test_only_what_rings_are_made_by_matters(section: str, changes: dict[str, Any], same: bool) -> None:
    config = Config()
    changed = replace(config, **{section: replace(getattr(config, section), **changes)})
    assert (handover.settings_of(changed) == handover.settings_of(config)) is same
