"""A private Ceph cluster in memory with its S3 gateway, out of Debian's packages. May raise debian.UnavailableError.

Documented at https://docs.ceph.com/en/pacific/install/manual-deployment/ and, for the gateway,
https://docs.ceph.com/en/pacific/radosgw/config-ref/. The programs run with their own loader and libraries, each as a
child of ours; nothing is installed, and no root is needed.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Self

from tests.support import debian, patience
from tests.support.objectstores import ACCESS_KEY, BUCKET, SECRET_KEY, Server
from tests.support.servers import free_port

SUITE = "bookworm"
USER = "querytap"

_PACKAGES = ("ceph-mon", "ceph-osd", "ceph-common", "radosgw")
_GATEWAY = "client.rgw.a"
_START_TIMEOUT_S = patience.seconds(120)
_CAPABILITIES = {
    "mon.": ("mon", "allow *"),
    "client.admin": ("mon", "allow *", "osd", "allow *", "mgr", "allow *"),
    _GATEWAY: ("mon", "allow rw", "osd", "allow rwx"),
}
_OSD_CAPABILITIES = ("mon", "allow profile osd", "osd", "allow *")


def packages() -> Path:
    """The root of the unpacked programs. Raises UnavailableError."""
    return debian.once("ceph", _fetch)


class Ceph(Server):
    """A monitor, *osds* storage daemons that each hold all objects, and a gateway with an empty bucket.

    It runs when the constructor returns; as a context manager it ends, and what it held is lost.
    """

    def __init__(self, osds: int = 1) -> None:
        self._root = packages()
        self._libraries = next(self._root.glob("usr/lib/*-linux-gnu"))
        super().__init__(free_port())
        self._folder = Path(
            tempfile.mkdtemp(prefix="ceph-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        )
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        try:
            self._configure(osds)
            self._start_monitor(osds)
            for number in range(osds):
                self._start_osd(number)
            self._await("storage daemons", lambda: f"{osds} up" in self.ceph("osd", "stat"))
            self._start_gateway()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End all of it at once."""
        for daemon in self._daemons.values():
            daemon.kill()
            daemon.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def stall(self) -> None:
        """Let the storage daemons do nothing: what the gateway is asked for takes as long as that."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let them work again."""
        self._signal(signal.SIGCONT)

    def kill(self, osd: int) -> None:
        """End a storage daemon with all it holds."""
        self._daemons[f"osd.{osd}"].kill()
        self._daemons[f"osd.{osd}"].wait()

    def set_quota(self, most_bytes: int | None) -> None:
        """Let the bucket hold no more than that; None: whatever comes."""
        which = ("--quota-scope=bucket", f"--bucket={BUCKET}")
        if most_bytes is not None:
            self.admin("quota", "set", *which, f"--max-size={most_bytes}")
        self.admin("quota", "enable" if most_bytes is not None else "disable", *which)

    def set_gateway(self, option: str, value: str) -> None:
        """Change an option of the running gateway."""
        self.ceph("--admin-daemon", str(self._folder / f"{_GATEWAY}.asok"), "config", "set", option, value)

    def ceph(self, *words: str) -> str:
        """What `ceph` prints."""
        python = [*self._program("python3.11"), str(self._root / "usr" / "bin" / "ceph"), "--connect-timeout=60"]
        return self._run([*python, *words])

    def admin(self, *words: str) -> str:
        """What `radosgw-admin` prints."""
        return self._run([*self._program("radosgw-admin"), "-n", _GATEWAY, *words])

    def _signal(self, number: signal.Signals) -> None:
        for name, daemon in self._daemons.items():
            if name.startswith("osd."):
                daemon.send_signal(number)

    def _program(self, name: str) -> list[str]:
        loader = next(self._root.glob("lib/*/ld-linux*.so*"))
        folders = (loader.parent, self._libraries, self._libraries / "ceph")
        return [str(loader), "--library-path", ":".join(map(str, folders)), str(self._root / "usr" / "bin" / name)]

    def _environment(self) -> dict[str, str]:
        packages_folder = self._root / "usr" / "lib" / "python3" / "dist-packages"
        return {
            "CEPH_CONF": str(self._folder / "ceph.conf"), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHOME": str(self._root / "usr"), "PYTHONPATH": str(packages_folder),
        }  # fmt: skip

    def _run(self, command: list[str]) -> str:
        done = subprocess.run(
            command, capture_output=True, env=self._environment(), timeout=_START_TIMEOUT_S, check=False, text=True
        )
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command[3:])}: {done.stderr[-2000:]}")
        return done.stdout

    def _configure(self, osds: int) -> None:
        self._cluster, self._monitor = str(uuid.uuid4()), (free_port(), free_port())
        text = CONFIG.format(
            cluster=self._cluster, v2=self._monitor[0], v1=self._monitor[1], folder=self._folder, size=osds,
            least=osds // 2 + 1, libraries=self._libraries, gateway=_GATEWAY, port=self.port,
        )  # fmt: skip
        (self._folder / "ceph.conf").write_text(text, encoding="utf-8")

    def _start_monitor(self, osds: int) -> None:
        keyring = str(self._folder / "keyring")
        entities = _CAPABILITIES | {f"osd.{number}": _OSD_CAPABILITIES for number in range(osds)}
        create = ["--create-keyring"]
        for entity, capabilities in entities.items():
            pairs = zip(capabilities[::2], capabilities[1::2], strict=True)
            words = [word for pair in pairs for word in ("--cap", *pair)]
            self._run([*self._program("ceph-authtool"), keyring, *create, "--gen-key", "-n", entity, *words])
            create = []
        v2, v1 = self._monitor
        addresses = f"[v2:127.0.0.1:{v2},v1:127.0.0.1:{v1}]"
        monmap = str(self._folder / "monmap")
        self._run([*self._program("monmaptool"), "--create", "--fsid", self._cluster, "--addv", "a", addresses, monmap])
        monitor = self._program("ceph-mon")
        self._run([*monitor, "-i", "a", "--mkfs", "--monmap", monmap, "--keyring", keyring])
        self._start("mon.a", [*monitor, "-f", "-i", "a"])

    def _start_osd(self, number: int) -> None:
        made = str(uuid.uuid4())
        self.ceph("osd", "new", made)
        (self._folder / f"osd.{number}").mkdir()
        daemon = self._program("ceph-osd")
        self._run([*daemon, "-i", str(number), "--mkfs", "--osd-uuid", made])
        self._start(f"osd.{number}", [*daemon, "-f", "-i", str(number)])

    def _start_gateway(self) -> None:
        self._start(_GATEWAY, [*self._program("radosgw"), "-f", "-n", _GATEWAY])
        self._await("gateway", self._answers)
        self.admin(
            "user", "create", f"--uid={USER}", f"--display-name={USER}", f"--access-key={ACCESS_KEY}",
            f"--secret-key={SECRET_KEY}",
        )  # fmt: skip
        self.request("PUT", f"/{BUCKET}")

    def _answers(self) -> bool:
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(self.endpoint, timeout=5):
                return True
        except OSError:
            return False

    def _start(self, name: str, command: list[str]) -> None:
        with (self._folder / f"{name}.out").open("wb") as log:
            self._daemons[name] = subprocess.Popen(command, stdout=log, stderr=log, env=self._environment())

    def _await(self, what: str, reached: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while not reached():
            ended = [name for name, daemon in self._daemons.items() if daemon.poll() is not None]
            if ended or time.monotonic() > deadline:
                logs = [(self._folder / f"{name}.out").read_text(errors="replace")[-2000:] for name in ended]
                raise RuntimeError(f"Ceph's {what} do not start; ended: {ended}\n" + "\n".join(logs))
            time.sleep(0.2)


def _fetch(folder: Path) -> None:
    with debian.apt(SUITE) as apt:
        debian.unpack(apt.with_dependencies(_PACKAGES), folder)
    if not (folder / "usr" / "bin" / "radosgw").exists():
        raise debian.UnavailableError("Debian's radosgw has no usr/bin/radosgw")


CONFIG = """\
[global]
fsid = {cluster}
mon_host = [v2:127.0.0.1:{v2},v1:127.0.0.1:{v1}]
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
keyring = {folder}/keyring
auth_allow_insecure_global_id_reclaim = false
log_file = {folder}/$name.log
run_dir = {folder}
admin_socket = {folder}/$name.asok
crash_dir = {folder}
mon_data = {folder}/mon
osd_data = {folder}/osd.$id
rgw_data = {folder}/rgw
plugin_dir = {libraries}/ceph
erasure_code_dir = {libraries}/ceph/erasure-code
osd_class_dir = {libraries}/rados-classes
osd_objectstore = memstore
memstore_device_bytes = 2147483648
osd_pool_default_size = {size}
osd_pool_default_min_size = {least}
osd_pool_default_pg_num = 8
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
osd_heartbeat_grace = 5
osd_memory_target = 939524096
mon_allow_pool_size_one = true
mon_max_pg_per_osd = 1000
mon_data_avail_warn = 2
mon_data_avail_crit = 1
mon_osd_min_down_reporters = 1

[{gateway}]
rgw_frontends = beast endpoint=127.0.0.1:{port} tcp_nodelay=1
rgw_thread_pool_size = 16
rgw_rados_pool_pg_num_min = 4
rgw_bucket_quota_ttl = 0
rgw_user_quota_bucket_sync_interval = 1
"""
