"""Boots a guest for one job, and gives back what the job left."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, NamedTuple

from tests.support import debian
from tests.support.guests import disk, image
from tests.support.guests.kernels import Kernel

_ATTEMPTS: Final = 2
_RESULT_MIB: Final = 64
_JOB_FREE_MIB: Final = 128
# Other clocks, and more capable processors, take longer to emulate.
_COMMAND_LINE: Final = "console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable no_timer_check rw"
_INITS: Final = {"job": "/job/.guest/init", "systemd": "/sbin/init"}
_FILES: Final = Path(__file__).with_name("files")


class GuestError(Exception):
    """No result came back, however often it was tried; has the end of what the guest wrote to its console."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """What a guest does: root runs *script* with sh in /job, and what it leaves in /out comes back."""

    script: str
    files: Mapping[str, Path] = field(default_factory=dict)
    """Files and folders of the host, by their names below /job."""
    left_out: Sequence[str] = ()
    """Patterns of names in those folders that are not needed."""
    init: Literal["job", "systemd"] = "job"
    """Whether the script is all that runs, or a unit of a system that systemd has started, `guest-job.service`."""
    timeout_s: float = 300
    memory_mib: int = 1024
    cores: int = 2


class Result(NamedTuple):
    """What a job came to."""

    status: int
    """The script's exit status."""
    output: str
    """What it printed, errors too."""
    folder: Path
    """What it left in /out."""
    console: str
    """What kernel and init wrote, and the output again."""
    seconds: float


def run(kernel: Kernel, job: Job, folder: Path) -> Result:
    """Run *job* on *kernel*; what comes back is in *folder*, which is made. Raises UnavailableError, GuestError."""
    with tempfile.TemporaryDirectory(prefix="querytap-guest-") as work:
        disks = Path(work)
        _make_job(disks / "job", job)
        for _ in range(_ATTEMPTS):
            console, seconds = _boot(kernel, job, disks)
            shutil.rmtree(folder, ignore_errors=True)
            with tarfile.open(disks / "result", "r:") as archive:  # of a disk that nobody wrote to: an empty one
                archive.extractall(folder, filter="tar")
            if (folder / "status").exists():
                output = (folder / "output").read_text(encoding="utf-8", errors="replace")
                return Result(int((folder / "status").read_text()), output, folder, console, seconds)
    raise GuestError(f"{kernel.release}: nothing came back in {seconds:.0f} s:\n{console[-6000:]}")


def _make_job(path: Path, job: Job) -> None:
    with tempfile.TemporaryDirectory(prefix="querytap-job-", dir=path.parent) as work:
        root = Path(work)
        root.chmod(0o755)
        for name, source in job.files.items():
            target = root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns(*job.left_out), dirs_exist_ok=True)
            else:
                shutil.copy2(source, target)
        shutil.copytree(_FILES, root / ".guest")
        (root / ".guest" / "script").write_text(job.script, encoding="utf-8")
        disk.make(path, root, _JOB_FREE_MIB)


def _boot(kernel: Kernel, job: Job, disks: Path) -> tuple[str, float]:
    """Run the machine until it is switched off or the job has had its time; its console, and how long it took."""
    with (disks / "result").open("wb") as file:
        file.truncate(_RESULT_MIB << 20)
    drives = (
        f"file={image.image()},snapshot=on", f"file={kernel.modules},readonly=on",
        f"file={disks / 'job'},snapshot=on", f"file={disks / 'result'}",
    )  # fmt: skip
    command = [
        _program(), "-accel", "tcg,thread=multi", "-cpu", "Nehalem", "-smp", str(job.cores), "-m", str(job.memory_mib),
        "-nodefaults", "-no-reboot", "-display", "none", "-serial", f"file:{disks / 'console'}",
        "-device", "virtio-rng-pci", "-kernel", str(kernel.image), "-initrd", str(kernel.initrd),
        "-append", f"{_COMMAND_LINE} guest_init={_INITS[job.init]}",
        *(word for drive in drives for word in ("-drive", f"{drive},format=raw,if=virtio")),
    ]  # fmt: skip
    started = time.monotonic()
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=job.timeout_s, check=False
        )
        complaint = done.stderr.decode(errors="replace")
    except subprocess.TimeoutExpired:
        complaint = "it was still running"
    written = disks / "console"  # which is not there where the machine did not even start
    console = written.read_text(encoding="utf-8", errors="replace") if written.exists() else ""
    return console + complaint, time.monotonic() - started


def _program() -> str:
    found = shutil.which("qemu-system-x86_64")
    if not found:
        raise debian.UnavailableError("qemu-system-x86_64 is not installed: packaging/build/debian-packages guest")
    return found
