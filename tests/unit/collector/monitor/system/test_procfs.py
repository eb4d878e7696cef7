from __future__ import annotations

from collections.abc import Iterable

import pytest

from collector.monitor.families import Reading
from collector.monitor.system import procfs

pytestmark = pytest.mark.either_build


def served(readings: Iterable[Reading]) -> dict[tuple[str, ...], float]:
    return {(reading.name, *reading.labels): reading.value for reading in readings}


def test_processors_are_told_by_number_and_mode_and_their_sum_is_not() -> None:
    text = (
        "cpu  30 0 20 100 0 0 0 0 0 0\n"
        "cpu0 10 1 5 50 2 3 4 6 9 9\n"
        "cpu1 20 0 15 50 0 0 0 0 0 0\n"
        "intr 77 1 2 3\nctxt 88\nbtime 1700000000\nprocesses 99\nprocs_running 3\nprocs_blocked 1\nsoftirq 5 1\n"
    )
    found = served(procfs.kernel(text))
    assert found["node_cpu_seconds_total", "0", "user"] == 0.1
    assert found["node_cpu_seconds_total", "0", "steal"] == 0.06
    assert found["node_cpu_seconds_total", "1", "system"] == 0.15
    assert not [key for key in found if key[1:2] == ("",)]
    assert found["node_intr_total",] == 77
    assert found["node_context_switches_total",] == 88
    assert found["node_boot_time_seconds",] == 1700000000
    assert found["node_forks_total",] == 99
    assert (found["node_procs_running",], found["node_procs_blocked",]) == (3, 1)


def test_the_load_is_of_three_spans() -> None:
    found = served(procfs.load("0.10 0.20 0.30 1/200 4242\n"))
    assert found == {("node_load1",): 0.1, ("node_load5",): 0.2, ("node_load15",): 0.3}


def test_memory_is_in_bytes_and_counts_stay_counts() -> None:
    found = served(procfs.memory("MemTotal:  2048 kB\nActive(anon):  1 kB\nHugePages_Total:  7\nodd\n"))
    assert found == {
        ("node_memory_MemTotal_bytes",): 2048 * 1024,
        ("node_memory_Active_anon_bytes",): 1024,
        ("node_memory_HugePages_Total",): 7,
    }


def test_of_paging_only_what_tells_of_faults_and_of_swap_is_told() -> None:
    found = served(procfs.paging("nr_free_pages 1\npgfault 2\npgmajfault 3\npswpin 4\noom_kill 5\npgfault_x 6\n"))
    assert set(found) == {(f"node_vmstat_{name}",) for name in ("pgfault", "pgmajfault", "pswpin", "oom_kill")}


def test_a_disk_has_requests_bytes_and_seconds_and_its_parts_are_left_out() -> None:
    text = (
        "   8       0 sda 10 1 16 2000 20 2 32 4000 3 5000 6000 7 8 9 10 11 12\n"
        "   8       1 sda1 10 1 16 2000 20 2 32 4000 3 5000 6000\n"
        " 259       0 nvme0n1 1 0 2 3 4 5 6 7 8 9 10\n"
        "   7       0 loop0 1 0 2 3 4 5 6 7 8 9 10\n"
    )
    found = served(procfs.disks(text))
    assert {key[1] for key in found} == {"sda", "nvme0n1"}
    assert found["node_disk_reads_completed_total", "sda"] == 10
    assert found["node_disk_read_bytes_total", "sda"] == 16 * 512
    assert found["node_disk_read_time_seconds_total", "sda"] == 2
    assert found["node_disk_write_time_seconds_total", "sda"] == 4
    assert found["node_disk_io_now", "sda"] == 3
    assert found["node_disk_io_time_seconds_total", "sda"] == 5
    assert found["node_disk_flush_requests_total", "sda"] == 11
    assert ("node_disk_flush_requests_total", "nvme0n1") not in found, "that kernel does not tell"


def test_an_interface_has_what_it_received_and_what_it_sent() -> None:
    text = "Inter-| Receive | Transmit\n face |bytes\n  eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
    found = served(procfs.network(text))
    assert found["node_network_receive_bytes_total", "eth0"] == 1
    assert found["node_network_receive_multicast_total", "eth0"] == 8
    assert found["node_network_transmit_bytes_total", "eth0"] == 9
    assert found["node_network_transmit_compressed_total", "eth0"] == 16


def test_of_tcp_the_named_figures_are_told() -> None:
    text = "Ip: Forwarding\nIp: 1\nTcp: ActiveOpens RtoMin RetransSegs\nTcp: 5 200 6\n"
    assert served(procfs.tcp(text)) == {("node_netstat_Tcp_ActiveOpens",): 5, ("node_netstat_Tcp_RetransSegs",): 6}


def test_open_files_and_their_bound_are_told() -> None:
    found = served(procfs.file_handles("1234\t0\t9223372036854775807\n"))
    assert found == {("node_filefd_allocated",): 1234, ("node_filefd_maximum",): 9.223372036854775807e18}


def test_pressure_is_in_seconds_and_of_processors_there_is_no_full() -> None:
    text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=500000\n"
    assert served(procfs.pressure("io", text)) == {
        ("node_pressure_io_waiting_seconds_total",): 2.5,
        ("node_pressure_io_stalled_seconds_total",): 0.5,
    }
    assert served(procfs.pressure("cpu", text)) == {("node_pressure_cpu_waiting_seconds_total",): 2.5}
