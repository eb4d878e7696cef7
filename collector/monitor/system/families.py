"""The metrics of the host, by the names that node_exporter gives them; what it has not is named `querytap_`."""

from __future__ import annotations

from typing import Final

from collector.monitor.families import Family

CPU: Final = Family("node_cpu_seconds_total", "counter", "Time a processor spent in a mode.", ("cpu", "mode"))
INTERRUPTS: Final = Family("node_intr_total", "counter", "Interrupts.")
CONTEXT_SWITCHES: Final = Family("node_context_switches_total", "counter", "Context switches.")
FORKS: Final = Family("node_forks_total", "counter", "Processes and threads made.")
BOOT_TIME: Final = Family("node_boot_time_seconds", "gauge", "When the host started, as Unix time.")
TIME: Final = Family("node_time_seconds", "gauge", "The host's clock, as Unix time.")
RUNNING: Final = Family("node_procs_running", "gauge", "Threads that run or could.")
BLOCKED: Final = Family("node_procs_blocked", "gauge", "Threads that wait for a disk.")
LOAD: Final = tuple(
    Family(f"node_load{minutes}", "gauge", f"Load average over {minutes} min.") for minutes in (1, 5, 15)
)

MEMORY: Final = Family("node_memory_*", "gauge", "A line of /proc/meminfo, as bytes where it has a unit.")
PAGING: Final = Family("node_vmstat_*", "unknown", "A line of /proc/vmstat: paging, page faults, kills for memory.")

_DISK: Final = ("device",)
READS: Final = Family("node_disk_reads_completed_total", "counter", "Reads that were completed.", _DISK)
READS_MERGED: Final = Family("node_disk_reads_merged_total", "counter", "Reads that were merged.", _DISK)
READ_BYTES: Final = Family("node_disk_read_bytes_total", "counter", "Bytes read.", _DISK)
READ_TIME: Final = Family(
    "node_disk_read_time_seconds_total", "counter", "Time of all reads; by their number it is their latency.", _DISK
)
WRITES: Final = Family("node_disk_writes_completed_total", "counter", "Writes that were completed.", _DISK)
WRITES_MERGED: Final = Family("node_disk_writes_merged_total", "counter", "Writes that were merged.", _DISK)
WRITTEN_BYTES: Final = Family("node_disk_written_bytes_total", "counter", "Bytes written.", _DISK)
WRITE_TIME: Final = Family(
    "node_disk_write_time_seconds_total", "counter", "Time of all writes; by their number it is their latency.", _DISK
)
IO_NOW: Final = Family("node_disk_io_now", "gauge", "Requests under way.", _DISK)
IO_TIME: Final = Family("node_disk_io_time_seconds_total", "counter", "Time in which requests were under way.", _DISK)
IO_WEIGHTED: Final = Family(
    "node_disk_io_time_weighted_seconds_total", "counter", "The same, times the requests under way.", _DISK
)
DISCARDS: Final = Family("node_disk_discards_completed_total", "counter", "Discards that were completed.", _DISK)
DISCARDS_MERGED: Final = Family("node_disk_discards_merged_total", "counter", "Discards that were merged.", _DISK)
DISCARDED_SECTORS: Final = Family("node_disk_discarded_sectors_total", "counter", "Sectors discarded.", _DISK)
DISCARD_TIME: Final = Family("node_disk_discard_time_seconds_total", "counter", "Time of all discards.", _DISK)
FLUSHES: Final = Family("node_disk_flush_requests_total", "counter", "Flushes that were completed.", _DISK)
FLUSH_TIME: Final = Family("node_disk_flush_requests_time_seconds_total", "counter", "Time of all flushes.", _DISK)

_MOUNT: Final = ("device", "fstype", "mountpoint")
SIZE: Final = Family("node_filesystem_size_bytes", "gauge", "Size of a file system.", _MOUNT)
FREE: Final = Family("node_filesystem_free_bytes", "gauge", "Free space, root's reserve included.", _MOUNT)
AVAILABLE: Final = Family("node_filesystem_avail_bytes", "gauge", "Free space for others than root.", _MOUNT)
FILES: Final = Family("node_filesystem_files", "gauge", "Inodes there are.", _MOUNT)
FILES_FREE: Final = Family("node_filesystem_files_free", "gauge", "Inodes that are free.", _MOUNT)
READ_ONLY: Final = Family("node_filesystem_readonly", "gauge", "1: nothing can be written.", _MOUNT)
DEVICE_ERROR: Final = Family(
    "node_filesystem_device_error", "gauge", "1: the file system did not tell its figures.", _MOUNT
)

_NETWORK_FIELDS: Final = ("bytes", "packets", "errs", "drop", "fifo")
RECEIVED: Final = tuple(
    Family(f"node_network_receive_{field}_total", "counter", f"Received on an interface: {field}.", ("device",))
    for field in (*_NETWORK_FIELDS, "frame", "compressed", "multicast")
)
SENT: Final = tuple(
    Family(f"node_network_transmit_{field}_total", "counter", f"Sent on an interface: {field}.", ("device",))
    for field in (*_NETWORK_FIELDS, "colls", "carrier", "compressed")
)
NETSTAT: Final = Family("node_netstat_*", "unknown", "A figure of /proc/net/snmp or /proc/net/netstat, of TCP.")

FILE_HANDLES: Final = Family("node_filefd_allocated", "gauge", "Open files of all processes.")
FILE_HANDLES_MOST: Final = Family("node_filefd_maximum", "gauge", "Most open files of all processes.")

PRESSURE: Final = {
    (resource, share): Family(
        f"node_pressure_{resource}_{'waiting' if share == 'some' else 'stalled'}_seconds_total",
        "counter",
        f"Time in which {'some tasks' if share == 'some' else 'all tasks'} waited for {what}.",
    )
    for resource, what in (("cpu", "a processor"), ("io", "a disk"), ("memory", "memory"))
    for share in ("some", "full")
    if (resource, share) != ("cpu", "full")  # the kernel has that of cgroups alone
}

_PROCESS: Final = ("process", "pid")
PROCESS_FDS: Final = Family("querytap_server_open_fds", "gauge", "Open descriptors of a server's process.", _PROCESS)
PROCESS_MOST_FDS: Final = Family(
    "querytap_server_max_fds", "gauge", "Descriptors that a server's process may have.", _PROCESS
)
PROCESS_RESIDENT: Final = Family(
    "querytap_server_resident_memory_bytes", "gauge", "Memory of a server's process that is in RAM.", _PROCESS
)
PROCESS_VIRTUAL: Final = Family(
    "querytap_server_virtual_memory_bytes", "gauge", "Address space of a server's process.", _PROCESS
)
PROCESS_SWAPPED: Final = Family(
    "querytap_server_swapped_memory_bytes", "gauge", "Memory of a server's process that is in swap.", _PROCESS
)
PROCESS_CPU: Final = Family(
    "querytap_server_cpu_seconds_total", "counter", "CPU time of a server's process, user and system.", _PROCESS
)
PROCESS_THREADS: Final = Family("querytap_server_threads", "gauge", "Threads of a server's process.", _PROCESS)
PROCESS_START: Final = Family(
    "querytap_server_start_time_seconds", "gauge", "When a server's process started, as Unix time.", _PROCESS
)
