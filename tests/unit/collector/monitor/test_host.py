from __future__ import annotations

import os

import msgpack

from collector.monitor.host import Sampler, cpu_percent, tree_use


def test_cpu_use_is_summed_over_processes_and_related_to_the_time() -> None:
    assert cpu_percent({1: 10.0, 2: 5.0}, {1: 10.5, 2: 5.25}, 5.0) == 15.0


def test_a_process_that_began_meanwhile_counts_from_its_start_and_one_that_ended_does_not_count() -> None:
    assert cpu_percent({1: 10.0}, {2: 0.5}, 1.0) == 50.0


def test_a_process_id_that_was_given_to_another_process_does_not_make_use_negative() -> None:
    assert cpu_percent({1: 100.0}, {1: 0.1}, 1.0) == 0.0


def test_no_time_means_no_use() -> None:
    assert cpu_percent({}, {1: 1.0}, 0.0) == 0.0


def test_this_process_is_in_its_own_tree() -> None:
    use = tree_use(os.getpid())
    assert os.getpid() in use.cpu_s
    assert use.rss_bytes > 0


def test_a_tree_whose_root_is_gone_is_empty() -> None:
    assert tree_use(2**22 + 1).cpu_s == {}


def test_a_sample_can_be_sent_and_names_host_and_tree() -> None:
    sample = Sampler(os.getpid()).sample()
    assert msgpack.unpackb(msgpack.packb(sample)) == sample
    assert sample["tree"]["processes"] >= 1
    assert sample["host"]["memory_total_bytes"] > sample["host"]["memory_available_bytes"] > 0
