from __future__ import annotations

import pytest

from collector.capture import landlock


@pytest.mark.parametrize(
    ("version", "files", "network", "scoped"),
    [
        (1, 0x1FFF, 0, 0),  # up to LANDLOCK_ACCESS_FS_MAKE_SYM
        (2, 0x3FFF, 0, 0),  # LANDLOCK_ACCESS_FS_REFER
        (3, 0x7FFF, 0, 0),  # LANDLOCK_ACCESS_FS_TRUNCATE
        (4, 0x7FFF, 3, 0),  # LANDLOCK_ACCESS_NET_BIND_TCP and _CONNECT_TCP
        (5, 0xFFFF, 3, 0),  # LANDLOCK_ACCESS_FS_IOCTL_DEV
        (6, 0xFFFF, 3, 3),  # LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET and _SIGNAL
        (9, 0xFFFF, 3, 3),  # what came later is not known here
    ],
)
def test_a_kernel_is_asked_for_all_that_its_version_can_take_away(
    version: int, files: int, network: int, scoped: int
) -> None:
    assert landlock.handled(version) == (files, network, scoped)


def test_a_kernel_has_a_version_or_none() -> None:
    assert landlock.version() >= 0


def test_what_the_kernel_does_not_grant_is_an_error() -> None:
    with pytest.raises(OSError, match="landlock_create_ruleset"):
        landlock.restrict(0)  # a ruleset that takes nothing away, which no kernel makes
