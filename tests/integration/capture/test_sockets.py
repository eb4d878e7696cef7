from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.capture import scenarios
from tests.integration.capture.scenarios import crafted
from tests.support import processes
from tests.support.namespaces import Namespace
from tests.support.servers import MariaDB
from tests.unit.collector.capture.test_filter import passes

pytestmark = [pytest.mark.integration, pytest.mark.either_build]

METHODS = ("ring", "ring-v2", "socket")
each_method = pytest.mark.parametrize("method", METHODS)


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    with Namespace() as made:
        yield made


def scenario(namespace: Namespace, name: str, *arguments: str) -> Any:  # noqa: ANN401  # JSON
    return namespace.call(getattr(scenarios, name), *arguments)


@pytest.mark.parametrize("responses", ["none", "first", "all"])
def test_the_kernel_decides_as_the_interpreter_does(namespace: Namespace, responses: str) -> None:
    seen = scenario(namespace, "kernel_filter", responses)
    expected = {name: passes(packet, responses=responses) for name, packet in crafted().items()}
    assert seen == expected
    assert set(expected.values()) == {True, False}


@pytest.mark.parametrize("tunnels", [("vxlan",), ("gre",), ("ipip",), ("vxlan", "gre", "ipip")])
def test_the_kernel_passes_tunnels_as_the_interpreter_does(namespace: Namespace, tunnels: tuple[str, ...]) -> None:
    seen = scenario(namespace, "kernel_filter", "first", *tunnels)
    assert seen == {name: passes(packet, tunnels=tunnels) for name, packet in crafted().items()}


@each_method
def test_no_packet_of_another_time_interface_or_port_is_in_a_ring(namespace: Namespace, method: str) -> None:
    assert scenario(namespace, "strays", method) == {
        "before": 0,
        "after": 0,
        "counted": 0,
        "there_was_traffic": True,
    }


def test_a_selection_of_interfaces_sees_no_other_and_loopback_but_once(namespace: Namespace) -> None:
    seen = scenario(namespace, "interfaces")
    assert seen == {"all": ["lo", "one0", "one1"], "listed": ["lo", "one1"], "bound": ["lo"]}


def test_all_methods_give_the_same_packets_with_length_direction_and_vlan_tag(namespace: Namespace) -> None:
    seen = scenario(namespace, "methods")
    frames = seen["frames"]["ring"]
    assert seen["frames"] == dict.fromkeys(METHODS, frames)
    assert seen["counters"] == {method: [len(frames), 0, 0] for method in METHODS}
    assert seen["waiting"] == dict.fromkeys(METHODS, len(frames))
    lengths = [(len(data) // 2, length) for data, _, length, _, _ in frames]
    assert any(kept < length for kept, length in lengths), "the filter has cut none"
    assert all(kept <= length for kept, length in lengths)
    outgoing, host, broadcast = 4, 0, 1
    assert {kind for _, _, _, kind, _ in frames} == {host, broadcast, outgoing}
    assert [0x6005, 0x8100] in [vlan for _, _, _, _, vlan in frames]
    assert seen["stamps_apart_ns"] < 1_000_000_000
    assert 0 < seen["age_ns"] < 60_000_000_000, "stamps are of the realtime clock, in nanoseconds"


def test_all_methods_give_the_same_records(namespace: Namespace) -> None:
    with MariaDB(namespace) as server:
        seen = scenario(namespace, "records", str(server.port))
    expected = seen["ring"]
    assert seen == dict.fromkeys(METHODS, expected)
    assert sum("SELECT" in record for record in expected) == 22
    assert [record for record in expected if "error_code=1054" in record], "the answers are there too"


@each_method
def test_what_finds_no_room_is_counted_whatever_the_method(namespace: Namespace, method: str) -> None:
    seen = scenario(namespace, "full_ring", method)
    assert seen["dropped"] > 0
    assert seen["passed"] == 20_000 == seen["dropped"] + seen["waiting"]
    assert seen["freezes"] == (0 if method == "ring-v2" else 1), "of V2 the kernel counts none"


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_of_a_share_of_connections_the_kernel_passes_each_whole_as_the_interpreter_does(
    namespace: Namespace, share: float
) -> None:
    seen = scenario(namespace, "keep", str(share))
    assert seen["as_the_interpreter"]
    assert seen["whole"]
    assert seen["dropped"] == 0
    assert 0 < seen["connections"] < 80


def test_a_filter_that_is_swapped_loses_no_packet(namespace: Namespace) -> None:
    seen = scenario(namespace, "swaps")
    assert seen["passed"] == seen["sent"]
    assert seen["swapped"] > 1


def test_a_group_has_a_number_of_its_own_and_takes_no_stranger(namespace: Namespace) -> None:
    seen = scenario(namespace, "group_of_our_own")
    assert seen["joined"] == "OSError"
    assert seen["alone"] == "allowed"
    assert len(seen["numbers"]) == 2


def test_a_trial_tells_a_fanout_that_keeps_directions_together_from_one_that_does_not(namespace: Namespace) -> None:
    seen = scenario(namespace, "trials")
    assert seen["hash"] is None
    assert seen["cbpf"] is None
    assert seen["anywhere"] == "this kernel's hash sends the two directions of a connection to different workers"


def test_fragments_are_put_together_where_that_is_asked_for(namespace: Namespace) -> None:
    assert scenario(namespace, "fragments") == {"count": [60], "join": [140]}


@pytest.mark.parametrize(
    ("workers", "method", "kind"),
    [(1, "ring", "auto"), *itertools.product((2, 4), METHODS, ("hash", "cbpf"))],
)
def test_both_directions_of_a_connection_are_in_one_ring_whole_and_once(
    namespace: Namespace, workers: int, method: str, kind: str
) -> None:
    seen = scenario(namespace, "flows", str(workers), method, kind)
    assert seen["dropped"] == 0
    flows = seen["flows"]
    assert sorted(name[:4] for name in flows) == ["IPv4"] * 40 + ["IPv6"] * 40
    for name, sides in flows.items():
        assert len({*sides["client"], *sides["server"]}) == 1, f"{name} is in more than one ring"
        assert len(sides["client"]) == 3, f"{name}: SYN, query and FIN"
        assert len(sides["server"]) == 3, f"{name}: SYN, beginning of the answer and FIN"
    assert len({sides["client"][0] for sides in flows.values()}) == workers


def test_a_worker_has_its_ring_a_log_and_what_wakes_it_and_no_right(namespace: Namespace) -> None:
    # In a process of its own: what a fork of this one would leave its worker is not what capture does.
    seen = json.loads(namespace.run(processes.module(scenarios.__name__, "worker_rights")).stdout)
    kinds = {int(fd): target.split(":")[0] for fd, target in seen["fds"].items()}
    assert kinds == {seen["wake"]: "pipe", seen["listening"]: "socket"}
    assert seen["stdio"][1].startswith("pipe:")
    assert seen["stdio"][2] == seen["stdio"][1]
    assert seen["stdio"][1] not in seen["our_stdio"]
    assert seen["rings"] == 1
    assert seen["areas"] == ["querytap-checkpoint-0 (deleted)"], "not that of another worker"
    zero = "0000000000000000"
    assert seen["status"] == {
        **dict.fromkeys(("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"), zero),
        "NoNewPrivs": "1",
    }
    assert seen["packet_socket"] == seen["raw_socket"] == "PermissionError"
    assert seen["parents_memory"] == seen["parents_fds"] == "PermissionError"
    assert seen["dumpable"] == 0
    if os.geteuid() == 0:
        assert "0" not in seen["uid"]
        assert seen["root"] == "PermissionError"
        assert seen["groups"] == []
