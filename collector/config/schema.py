"""All options, each declared once: default, meaning, unit and bounds.

The sample file, docs/configuration.md and `querytap explain` are derived from here (`reference.py`).
"""

from __future__ import annotations

import dataclasses
import typing

from collector.config.commands import COMMANDS
from collector.config.monitoring import AlertsOptions, MonitorOptions
from collector.config.option import (
    Option,
    absolute_path,
    between,
    each,
    empty_or,
    interface_name,
    name_in,
    namespace,
    network,
    one_of,
    option,
    options_of,
    power_of_two,
    region_name,
    server_url,
    store_url,
    user_name,
    wire_name,
)

# sun_path has 108 bytes with its end (unix(7)); <run>/capture/worker-63/blocks.sock has to fit.
_LONGEST_RUN_PATH_BYTES = 107 - len("/capture/worker-63/blocks.sock")
_MOST_PORTS = 64  # for which there is room where workers are told of them (workers.page)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CaptureOptions:
    """How packets leave the kernel, and which of them."""

    ports: tuple[int, ...] = option(
        (),
        "TCP ports of the servers to record. Empty: the ports on which the mysqld and mariadbd processes of this host "
        "listen, followed as these start, stop and move.",
        applies="reload",
        check=each(between(1, 65535), most=_MOST_PORTS),
        example=(3306, 3307),
    )
    x_ports: tuple[int, ...] = option(
        (),
        "TCP ports on which servers speak the X Protocol, 33060 as a rule, to record as well. They are never looked "
        "for: as a rule X Protocol clients use TLS, of which nothing can be read.",
        applies="reload",
        check=each(between(1, 65535), most=_MOST_PORTS),
        example=(33060,),
    )
    tunnels: tuple[str, ...] = option(
        (),
        "Tunnels whose packets are looked into, where the servers' traffic does not come without them: "
        '"vxlan" (UDP port 4789), "gre", "ipip" (IPv4 or IPv6 in either). The kernel\'s filter cannot look so deep: '
        "all packets of these tunnels pass it whole, answers and other traffic too, and the workers sort them. The "
        "kernel's hash spreads VXLAN over workers by each direction: with several workers, let capture.fanout be "
        '"cbpf", or statements may have no status.',
        applies="restart",
        check=each(one_of("vxlan", "gre", "ipip")),
        example=("vxlan",),
    )
    interfaces: tuple[str, ...] = option(
        (),
        "Network interfaces to listen on. Empty: all of them, loopback included.",
        applies="restart",
        check=each(interface_name()),
        example=("eth0", "lo"),
    )
    namespaces: tuple[str, ...] = option(
        (),
        "Network namespaces to record, where servers run in containers: the path of one (/run/netns/NAME), or the "
        'number of a process in it; "own" is the one that querytap runs in. Empty: that one alone. Each has '
        "workers.count workers of its own. Entering another one takes the capability CAP_SYS_ADMIN at the start.",
        applies="restart",
        check=each(namespace()),
        example=("own", "/run/netns/db"),
    )
    mode: str = option(
        "full",
        'What is recorded. "full": every statement. "monitor": none; there is no capture and no archive, only metrics '
        '(docs/monitoring.md), and no right is needed. The mode "slow" (only slow or failed statements) is not '
        "available yet.",
        applies="restart",
        check=one_of("full", "monitor", later=("slow",)),
    )
    responses: str = option(
        "first",
        "How much of the server's answers is looked at. "
        '"none": only the greeting and the answers to PREPARE, which is the cheapest; statements then have no status '
        'and no latency. "first": also the start of each answer, for status, error, affected rows and time to first '
        'byte. "timing": also the headers of all the rest, for bytes and time to last byte. "all": every byte, for '
        "rows, warnings and final status; this costs as much more as the answers are big.",
        applies="restart",
        check=one_of("none", "first", "timing", "all"),
    )
    keep_percent: int = option(
        100,
        "Share of the connections that is recorded, each of them whole. Which they are follows from their addresses "
        "and ports, and the kernel's filter leaves out the others at next to no cost. What is in tunnels is all "
        "recorded.",
        unit="%",
        applies="reload",
        check=between(1, 100),
    )
    method: str = option(
        "auto",
        'How packets get from the kernel to the workers. "ring": through a TPACKET_V3 ring, whose blocks the kernel '
        'fills. "ring-v2": through a TPACKET_V2 ring, which has a place of 68 KiB for each packet, so that it fills '
        'sooner. "socket": through capture, which takes packets from a plain socket, for kernels that have no rings. '
        '"auto": the first of these that this kernel has and that is sound; `querytap status` says which, and why.',
        applies="restart",
        check=one_of("auto", "ring", "ring-v2", "socket"),
    )
    fanout: str = option(
        "auto",
        'How the kernel spreads connections over several workers. "hash": by its own hash. "cbpf": by a program of '
        'querytap\'s, which reckons with both addresses and both ports. "auto": by its hash, unless a trial at the '
        "start shows that it separates the two directions of a connection; `querytap status` says which, and why.",
        applies="restart",
        check=one_of("auto", "hash", "cbpf"),
    )
    fragments: str = option(
        "count",
        'What becomes of fragments of IP datagrams, of which TCP has none as a rule. "count": the first of each is '
        'counted, none is read. "join": the kernel puts those of IPv4 together, of all packets of the host, before the '
        "filter sees them.",
        applies="restart",
        check=one_of("count", "join"),
    )
    ring_mib: int = option(
        64,
        "Memory of the kernel's packet ring of one worker. It is taken whole at the start, once for each worker, "
        "at least two blocks of it; where the kernel has less to give, the ring is smaller and a warning says so. A "
        "ring that is full makes the kernel drop packets, which the ledger shows.",
        unit="MiB",
        applies="restart",
        check=between(1, 4096),
    )
    checkpoint_mib: int = option(
        8,
        "Memory of each worker in which it leaves to the next one what it knows of open connections: user, database, "
        "prepared statements. What finds no room is unknown after a worker was killed, and counted in the ledger as "
        "checkpoint_dropped; 8 MiB do for some 4,000 connections that have the same five statements prepared. Memory "
        "is taken as it is written to. 0: nothing is left.",
        unit="MiB",
        check=between(0, 1024),
        applies="restart",
    )
    block_kib: int = option(
        1024,
        "Size of a block of the ring. Of a packet that is longer the rest is cut and counted as frames_snapped; the "
        "default holds every packet there is. Of smaller ones there are more, which bridges a longer pause of a worker "
        "where packets are few.",
        unit="KiB",
        applies="restart",
        check=power_of_two(128, 4096),
    )
    block_timeout_ms: int = option(
        250,
        "Time after which the kernel hands over a block of the ring that is not full. Shorter: statements appear "
        "sooner; longer: fewer wake-ups.",
        unit="ms",
        applies="restart",
        check=between(10, 1000),
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WorkersOptions:
    """The processes that decode packets."""

    count: int = option(
        1,
        "Number of worker processes. Connections are spread over them by the kernel; both directions of a connection "
        "go to the same worker.",
        applies="restart",
        check=between(1, 64),
    )
    sandbox: str = option(
        "auto",
        "Whether the workers are sealed, so that code which an attacker gets to run in one reaches no file, no network "
        "and no other process: by a seccomp filter, and by Landlock. docs/security.md says how. "
        '"auto": by what the kernel has of both; the log and `querytap status` say what that is. "required": by both, '
        'or querytap does not start. "off": by neither, to find out whether a fault comes from there.',
        applies="restart",
        check=one_of("auto", "required", "off"),
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DecodeOptions:
    """Limits of what a worker holds while it reassembles and decodes."""

    max_statement_kib: int = option(
        16 * 1024,
        "Longest text of one statement that is kept. What is beyond is cut, the statement is flagged as truncated and "
        "its whole length is recorded, with the SHA-256 of all of it.",
        unit="KiB",
        applies="restart",
        check=between(1, 32 * 1024),
    )
    max_flows: int = option(
        65536,
        "Number of connections one worker keeps state of. Beyond it one that is closed, or was long idle, is given up.",
        unit="connections",
        applies="restart",
        check=between(16, 4 * 1024 * 1024),
    )
    max_flow_buffer_kib: int = option(
        1024,
        "Most bytes of one connection that wait for a missing segment. Beyond it the missing bytes are given up as "
        "lost.",
        unit="KiB",
        applies="restart",
        check=between(16, 1024 * 1024),
    )
    max_buffer_mib: int = option(
        256,
        "Most bytes that all connections of one worker hold together: segments that wait for a missing one, and "
        "statements that are not complete.",
        unit="MiB",
        applies="restart",
        check=between(1, 65536),
    )
    gap_timeout_ms: int = option(
        1000,
        "Time to wait for a missing segment before its bytes are given up as lost.",
        unit="ms",
        applies="restart",
        check=between(10, 60_000),
    )
    idle_timeout_s: int = option(
        28_800,
        "Time without a packet after which a connection's state is dropped. The default is that of the server's "
        "wait_timeout.",
        unit="s",
        applies="restart",
        check=between(1, 7 * 86_400),
    )


_UNKNOWN_USER = "Of a connection that was open before capture began the user is not known: "
_OMITTED = "Statements left out are counted in the ledger as filtered. "


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyOptions:
    """What of statements never leaves a worker. Passwords do not, whatever is set here: docs/privacy.md."""

    literals: str = option(
        "keep",
        'What becomes of the data in statements. "keep": it is recorded. "mask": each literal is recorded as ?, '
        "comments as empty, and bound values, query attributes and error messages not at all; status, error code and "
        "all figures are.",
        check=one_of("keep", "mask"),
        applies="restart",
    )
    omit_users: tuple[str, ...] = option(
        (),
        "Users whose statements are left out, logins included. " + _OMITTED + _UNKNOWN_USER + "it is recorded.",
        check=each(wire_name()),
        applies="restart",
        example=("backup",),
    )
    omit_databases: tuple[str, ...] = option(
        (),
        "Databases whose statements are left out: those sent while it is the default database, whatever tables they "
        "name.",
        check=each(wire_name()),
        applies="restart",
        example=("scratch",),
    )
    omit_clients: tuple[str, ...] = option(
        (),
        "Addresses and networks of clients whose statements are left out.",
        check=each(network()),
        applies="restart",
        example=("10.1.2.3", "192.168.0.0/16"),
    )
    omit_commands: tuple[str, ...] = option(
        (),
        "Commands that are left out, as records name them.",
        check=each(name_in("command", COMMANDS)),
        applies="restart",
        example=("ping", "stmt_close"),
    )
    only_users: tuple[str, ...] = option(
        (),
        "Users whose statements alone are recorded. Empty: all. " + _UNKNOWN_USER + "it is left out.",
        check=each(wire_name()),
        applies="restart",
        example=("payroll",),
    )
    only_databases: tuple[str, ...] = option(
        (),
        "Databases whose statements alone are recorded. Empty: all. What is sent while the default database is none, "
        "or not known, is left out, a login without a database too.",
        check=each(wire_name()),
        applies="restart",
        example=("shop",),
    )
    only_clients: tuple[str, ...] = option(
        (),
        "Addresses and networks of clients whose statements alone are recorded. Empty: all.",
        check=each(network()),
        applies="restart",
        example=("10.0.0.0/8", "fd00::/8"),
    )
    only_commands: tuple[str, ...] = option(
        (),
        "Commands that alone are recorded, as records name them. Empty: all.",
        check=each(name_in("command", COMMANDS)),
        applies="restart",
        example=("query", "stmt_execute"),
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """How statements are gathered into sealed objects."""

    max_mib: int = option(
        8,
        "Size at which a batch is closed and shipped.",
        unit="MiB",
        applies="reload",
        check=between(1, 256),
    )
    max_age_s: float = option(
        10.0,
        "Age at which a batch is closed and shipped, whatever its size. A batch with ledger and health goes out at "
        "least each minute, empty or not, hence the upper bound.",
        unit="s",
        applies="reload",
        check=between(1, 60),
    )
    block_age_ms: int = option(
        500,
        "Age at which a worker hands its statements to the aggregator, whatever their number.",
        unit="ms",
        applies="reload",
        check=between(10, 10_000),
    )
    zstd_level: int = option(
        1,
        "Level of the zstd compression. Higher: smaller objects for more CPU; levels 2 to 4 cost more and save little "
        "(docs/compression.md).",
        applies="reload",
        check=between(1, 19),
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StoreOptions:
    """Where sealed objects go."""

    url: str = option(
        "",
        "The archive: an absolute path, or a URL of a folder (file:///folder), of S3 and what speaks it "
        "(s3://bucket/folder), of Google Cloud Storage (gs://bucket/folder) or of Azure (az://container/folder). "
        'Empty: the folder "archive" in paths.state. docs/store.md tells more.',
        applies="restart",
        check=store_url("file", "s3", "gs", "az"),
        example="file:///srv/querytap",
    )
    endpoint: str = option(
        "",
        "Server of an s3:// or az:// store, where it is another than Amazon's or Microsoft's. With http:// nobody "
        "checks who answers: objects are sealed and credentials of S3 sign and are not sent, but whoever is on the way "
        "can keep objects from the store.",
        applies="restart",
        check=empty_or(server_url()),
        example="https://ceph.example.net:8443",
    )
    region: str = option(
        "",
        'Region of an s3:// store. Empty: what AWS_REGION says, else "us-east-1", which most other servers take.',
        applies="reload",
        check=empty_or(region_name()),
        example="eu-central-1",
    )
    credentials_file: str = option(
        "",
        "File with the credentials for a remote store. It has lines of the form name = value; for gs:// it is the JSON "
        "file of a service account's key. The aggregator alone opens it, as process.user, and again "
        "after a reload and when the store denies access. Empty: the environment, and the role of the machine.",
        applies="reload",
        check=empty_or(absolute_path()),
        example="/run/credentials/querytap-aggregator.service/store",
    )
    ca_file: str = option(
        "",
        "PEM file with the authorities that vouch for a remote store, beside those that the system trusts.",
        applies="reload",
        check=empty_or(absolute_path()),
        example="/etc/querytap/ca.pem",
    )
    object_lock: str = option(
        "off",
        "Whether an s3:// store lets nobody remove objects before their time (S3 Object Lock). "
        '"bucket": it does, by a default retention of the bucket, and demands a checksum, which is sent with each.',
        applies="restart",
        check=one_of("off", "bucket"),
    )
    timeout_s: float = option(
        60.0,
        "Longest time that one request to a remote store takes, sending an object included.",
        unit="s",
        applies="reload",
        check=between(1, 3600),
    )
    uploads: int = option(
        2,
        "Most objects that are on their way to a remote store at once. Each takes a thread and the memory of a batch.",
        applies="reload",
        check=between(1, 16),
    )
    upload_rate_kib: int = option(
        0,
        "Most that is sent to a remote store a second, on average; 0: as much as the network takes. Each object is "
        "sent at one go, and the pauses between objects make it good.",
        unit="KiB a second",
        applies="reload",
        check=between(0, 16 * 1024 * 1024),
    )
    local_max_mib: int = option(
        10_240,
        "Size a local archive may reach, or the spool of a remote one, in which objects wait until the store has them. "
        "Beyond it the oldest objects are removed and counted.",
        unit="MiB",
        applies="reload",
        check=between(1, 16 * 1024 * 1024),
    )
    min_free_percent: int = option(
        10,
        "Share of the file system under a local archive or spool that stays free. Where less is free, the oldest "
        "objects are removed and counted; the newest 64 MiB always stay.",
        unit="%",
        applies="reload",
        check=between(0, 90),
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SealOptions:
    """Who can read the archive."""

    recipients: tuple[str, ...] = option(
        (),
        "Files with the public keys of those who can open the archive, as `querytap keygen` writes them. Empty: "
        '"keys/reader.pub" in paths.state, where it exists.',
        applies="reload",
        check=each(absolute_path()),
        example=("/etc/querytap/audit.pub",),
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BudgetOptions:
    """What querytap may cost."""

    cpu_percent: float = option(
        10.0,
        "Most CPU time of all of querytap's processes and of what the kernel spends for them; 100 is one core. What "
        "would cost more is given up, the least valuable first: docs/budget.md says what and in which order.",
        unit="% of one core",
        applies="reload",
        check=between(0.1, 6400),
    )
    cpu_percent_of_host: float = option(
        0.0,
        "The same as a share of all processors of the host, in place of budget.cpu_percent. 0: that one holds.",
        unit="% of the host",
        applies="reload",
        check=between(0, 100),
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ProcessOptions:
    """Users and life of the processes."""

    user: str = option(
        "",
        'User of the aggregator and the monitor. Empty: "querytap" where it exists, else number 65530. Where querytap '
        "is not started by root, all processes keep the user who started them.",
        applies="restart",
        check=user_name(),
        example="querytap",
    )
    worker_user: str = option(
        "",
        'User of the workers, which read what strangers send. Empty: "querytap-worker" where it exists, else number '
        "65531. The same holds as for process.user, and it should be another one.",
        applies="restart",
        check=user_name(),
        example="querytap-worker",
    )
    start_timeout_s: int = option(
        60,
        "Longest time from the start of `querytap run` until it records; then it stops, and says so. Under systemd the "
        "units' TimeoutStartSec= is that.",
        unit="s",
        applies="restart",
        check=between(1, 3600),
    )
    stop_timeout_s: int = option(
        30,
        "Longest time an orderly stop takes to bring rings, blocks and batches into the archive. What is left then is "
        "said and given up.",
        unit="s",
        applies="reload",
        check=between(1, 3600),
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PathsOptions:
    """Folders of querytap on this host."""

    state: str = option(
        "/var/lib/querytap",
        "Folder of what outlives a restart: keys, and the archive where it is local.",
        applies="restart",
        check=absolute_path(),
    )
    run: str = option(
        "/run/querytap",
        "Folder of what does not outlive a restart: sockets, the process id and the status. Its length is bounded by "
        "that of a Unix socket's path.",
        applies="restart",
        check=absolute_path(_LONGEST_RUN_PATH_BYTES),
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The resolved configuration; immutable, valid when it comes from `load` or `from_mapping`."""

    capture: CaptureOptions = CaptureOptions()
    workers: WorkersOptions = WorkersOptions()
    decode: DecodeOptions = DecodeOptions()
    privacy: PrivacyOptions = PrivacyOptions()
    batch: BatchOptions = BatchOptions()
    store: StoreOptions = StoreOptions()
    seal: SealOptions = SealOptions()
    budget: BudgetOptions = BudgetOptions()
    monitor: MonitorOptions = MonitorOptions()  # noqa: RUF009  # it is frozen
    alerts: AlertsOptions = AlertsOptions()  # noqa: RUF009  # as above
    process: ProcessOptions = ProcessOptions()
    paths: PathsOptions = PathsOptions()

    @property
    def monitors_alone(self) -> bool:
        """Whether nothing is recorded: there is the monitor alone."""
        return self.capture.mode == "monitor"

    @property
    def worker_total(self) -> int:
        """Worker processes, those of all network namespaces together."""
        return self.workers.count * max(len(self.capture.namespaces), 1)


SECTIONS: dict[str, type] = typing.get_type_hints(Config)
"""The dataclass of each section, in the order of the file."""

OPTIONS: dict[str, Option] = {found.key: found for name, owner in SECTIONS.items() for found in options_of(name, owner)}
"""Every option by its key, in the order of the file."""
