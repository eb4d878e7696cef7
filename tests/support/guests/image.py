"""The root file system of all guests: Debian with systemd, Python and MariaDB. Querytap is not in it; jobs bring it."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from typing import Final

from tests.support import debian
from tests.support.guests import disk

_SUITE: Final = "bookworm"
_PACKAGES: Final = (
    "systemd", "systemd-sysv", "dbus", "python3", "iproute2", "ethtool", "kmod", "procps", "util-linux", "passwd",
    "libpcap0.8", "tcpdump", "mariadb-server-core", "mariadb-client-core", "sysbench",
)  # fmt: skip
_LEFT_OUT: Final = ("/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/man/*")
_MOUNTED_ON: Final = ("job", "out", "usr/lib/modules")
# Nobody logs in, and what is never used would only be waited for.
_MASKED: Final = (
    "getty.target", "getty-static.service", "serial-getty@ttyS0.service", "systemd-networkd.service",
    "systemd-timesyncd.service", "apt-daily.timer", "apt-daily-upgrade.timer", "fstrim.timer", "e2scrub_all.timer",
    "dpkg-db-backup.timer", "systemd-update-utmp.service", "systemd-firstboot.service",
)  # fmt: skip
_FREE_MIB: Final = 512


def image() -> Path:
    """The disk, made once: in about a minute, of 150 MB. Raises UnavailableError."""
    made_of = repr((_SUITE, _PACKAGES, _MASKED, _MOUNTED_ON))
    return debian.once(f"guest-{hashlib.sha256(made_of.encode()).hexdigest()[:12]}", _make) / "root"


def _make(folder: Path) -> None:
    if os.geteuid() != 0:
        raise debian.UnavailableError("only root can make the root file system of a guest")
    with tempfile.TemporaryDirectory(prefix="querytap-guest-") as work:
        root = Path(work, "root")
        debian.run([
            "mmdebstrap", "--variant=minbase", '--aptopt=Acquire::Check-Valid-Until "false"',
            '--aptopt=Acquire::Languages "none"', *(f"--dpkgopt=path-exclude={path}" for path in _LEFT_OUT),
            f"--include={','.join(_PACKAGES)}", _SUITE, str(root), debian.mirror(),
        ])  # fmt: skip
        for name in _MOUNTED_ON:
            (root / name).mkdir(parents=True, exist_ok=True)
        units = root / "etc" / "systemd" / "system"
        for unit in _MASKED:
            (units / unit).symlink_to("/dev/null")
        (units / "default.target").symlink_to("/lib/systemd/system/multi-user.target")
        (root / "etc" / "hostname").write_text("guest\n", encoding="utf-8")
        (root / "etc" / "machine-id").write_text("", encoding="utf-8")
        disk.make(folder / "root", root, _FREE_MIB)
