from __future__ import annotations

import os
import subprocess

import msgpack

from collector.monitor.host import Sampler, Tree, cpu_percent


def test_cpu_use_is_summed_over_processes_and_related_to_the_time() -> None:
    assert cpu_percent({1: 10.0, 2: 5.0}, {1: 10.5, 2: 5.25}, 5.0) == 15.0


def test_a_process_that_began_meanwhile_counts_from_its_start_and_one_that_ended_does_not_count() -> None:
    assert cpu_percent({1: 10.0}, {2: 0.5}, 1.0) == 50.0


def test_a_process_id_that_was_given_to_another_process_does_not_make_use_negative() -> None:
    assert cpu_percent({1: 100.0}, {1: 0.1}, 1.0) == 0.0


def test_no_time_means_no_use() -> None:
    assert cpu_percent({}, {1: 1.0}, 0.0) == 0.0


def test_this_process_is_in_its_own_tree() -> None:
    use = Tree(lambda: [os.getpid()]).use()
    assert os.getpid() in use.cpu_s
    assert use.rss_bytes > 0


def test_who_takes_the_place_of_another_is_found_at_once_and_others_soon() -> None:
    tree = Tree(lambda: [os.getpid()])
    first = subprocess.Popen(["sleep", "60"])
    try:
        assert first.pid in [tree.use().cpu_s, tree.use().cpu_s][-1]
    finally:
        first.kill()
        first.wait()
    second = subprocess.Popen(["sleep", "60"])
    try:
        assert second.pid in tree.use().cpu_s
        third = subprocess.Popen(["sleep", "60"])
        try:
            assert any(third.pid in tree.use().cpu_s for _ in range(Tree.FIND_EVERY))
        finally:
            third.kill()
            third.wait()
    finally:
        second.kill()
        second.wait()


def test_a_tree_whose_root_is_gone_is_empty() -> None:
    assert Tree(lambda: [2**22 + 1]).use().cpu_s == {}


def test_a_sample_can_be_sent_and_names_host_and_tree() -> None:
    sample = Sampler(lambda: [os.getpid()]).sample()
    assert msgpack.unpackb(msgpack.packb(sample)) == sample
    assert sample["tree"]["processes"] >= 1
    assert sample["host"]["memory_total_bytes"] > sample["host"]["memory_available_bytes"] > 0
