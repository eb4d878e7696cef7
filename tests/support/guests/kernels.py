"""Kernels of Debian's suites, each with its modules and with what mounts a guest's disks before its init runs."""

from __future__ import annotations

import functools
import gzip
import hashlib
import lzma
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import zstandard

from tests.support import debian
from tests.support.guests import disk

SUITES: Final = {"5.10": "bullseye", "6.1": "bookworm", "6.12": "trixie", "7.2": "sid"}
"""Where a kernel of that version is; sid goes on to others."""

_PACKAGE: Final = "linux-image-cloud-amd64"  # with bonding, bridge and 8021q, and a quarter of the generic one
_PARTS: Final = re.compile(r"linux-(image|binary|modules)-\d")
# What crc32c is called depends on the kernel, and ext4 says of none of these that it needs it.
_AT_THE_START: Final = (
    "crc32c_generic", "crc32c_intel", "crc32c_cryptoapi", "virtio_pci", "virtio_blk", "virtio_rng", "ext4",
)  # fmt: skip
_UNPACK: Final[dict[str, Callable[[bytes], bytes]]] = {
    ".ko": bytes,
    ".xz": lzma.decompress,
    ".zst": zstandard.decompress,
    ".gz": gzip.decompress,
}
_INIT: Final = Path(__file__).with_name("initrd")


class Kernel(NamedTuple):
    """A kernel that can be booted."""

    release: str
    image: Path
    initrd: Path
    modules: Path
    """A disk, for /lib/modules."""


def kernel(version: str) -> Kernel:
    """The kernel of *version*, one of `SUITES`. Raises UnavailableError, also where the suite has another by now."""
    suite = SUITES[version]
    made_of = hashlib.sha256(repr((_PACKAGE, _AT_THE_START, _INIT.read_bytes())).encode()).hexdigest()
    folder = debian.once(f"kernel-{suite}-{made_of[:12]}", functools.partial(_fetch, suite))
    release = (folder / "release").read_text(encoding="utf-8")
    if not release.startswith(f"{version}."):
        raise debian.UnavailableError(f"{suite} has no kernel {version} any more, but {release}")
    return Kernel(release, folder / "vmlinuz", folder / "initrd", folder / "modules")


def _fetch(suite: str, folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="querytap-kernel-") as work, debian.apt(suite) as apt:
        packages, root = Path(work, "packages"), Path(work, "root")
        packages.mkdir()
        names = [name for name in _parts(apt, _PACKAGE) if _PARTS.match(name)]
        debian.unpack(apt.alone([*names, "busybox-static"], packages), root)
        (found,) = (path.parent for path in root.glob("**/lib/modules/*/kernel"))
        release = found.name
        image = next(iter([*root.glob("boot/vmlinuz-*"), *found.glob("vmlinuz")]))
        shutil.move(image, folder / "vmlinuz")
        based = Path(work, "modules")
        (based / "lib").mkdir(parents=True)
        shutil.move(found.parent, based / "lib")
        debian.run(["depmod", "-b", str(based), release])
        disk.make(folder / "modules", based / "lib" / "modules", 0)
        _make_initrd(folder / "initrd", based / "lib" / "modules" / release, next(root.glob("**/bin/busybox")))
        (folder / "release").write_text(release, encoding="utf-8")


def _parts(apt: debian.Apt, package: str) -> Iterator[str]:
    """The package and what it depends on, down to where the kernel is: some suites have it in two."""
    yield package
    for name in apt.depends(package):
        if _PARTS.match(name):
            yield from _parts(apt, name)


def _make_initrd(initrd: Path, modules: Path, busybox: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="querytap-initrd-") as work:
        root = Path(work)
        for name in ("bin", "dev", "proc", "sys", "guest", "modules"):
            (root / name).mkdir()
        shutil.copy(busybox, root / "bin" / "busybox")
        shutil.copy(_INIT, root / "init")
        (root / "init").chmod(0o755)
        for number, path in enumerate(_in_order(modules)):
            data = _UNPACK[path.suffix](path.read_bytes())
            (root / "modules" / f"{number:02}-{path.name.split('.')[0]}.ko").write_bytes(data)
        names = "\n".join(os.path.relpath(path, root) for path in sorted(root.rglob("*")))
        made = subprocess.run(
            ["cpio", "-o", "-H", "newc", "--quiet"], cwd=root, input=names.encode(), capture_output=True, check=False
        )
        if made.returncode != 0:
            raise debian.UnavailableError(f"cpio: {made.stderr.decode()[-400:]}")
        initrd.write_bytes(gzip.compress(made.stdout, 1))


def _in_order(modules: Path) -> list[Path]:
    """What is loaded at the start, each module behind those that it needs."""
    lines = (modules / "modules.dep").read_text(encoding="utf-8").splitlines()
    needs = {name: rest.split() for name, _, rest in (line.partition(":") for line in lines)}
    named = {Path(path).name.split(".")[0].replace("-", "_"): path for path in needs}
    wanted = [named[name] for name in _AT_THE_START if name in named]
    found = [path for one in wanted for path in (*reversed(needs[one]), one)]
    return [modules / path for path in dict.fromkeys(found)]
