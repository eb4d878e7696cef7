from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

import collector
from collector import privileges

PR_GET_DUMPABLE = 3


def in_a_child(program: str) -> str:
    """What a program prints that runs in a process of its own, exec'd."""
    environment = {**os.environ, "PYTHONPATH": str(Path(collector.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
    return done.stdout.decode()


def test_exec_opens_a_process_to_debuggers_and_closing_it_closes_it() -> None:
    program = f"""
import ctypes
from collector import privileges
before = ctypes.CDLL(None).prctl({PR_GET_DUMPABLE}, 0, 0, 0, 0)
privileges.close_to_debuggers()
print(before, ctypes.CDLL(None).prctl({PR_GET_DUMPABLE}, 0, 0, 0, 0))
"""
    assert in_a_child(program) == "1 0\n"


@pytest.mark.parametrize("name", ["aggregator", "monitor", "capture"])
def test_each_process_of_the_tree_is_closed_to_debuggers_from_its_beginning(name: str) -> None:
    program = f"""
import ctypes, json, os
from collector import child
from collector.config import Config, to_mapping
settings = os.memfd_create("settings")
os.write(settings, json.dumps(to_mapping(Config())).encode())
assert child.begin({name!r}, settings) == Config()
print(ctypes.CDLL(None).prctl({PR_GET_DUMPABLE}, 0, 0, 0, 0))
"""
    assert in_a_child(program) == "0\n"


def test_who_becomes_what_it_is_already_loses_every_capability() -> None:
    program = """
from pathlib import Path
from collector import identities, privileges
privileges.become(identities.present())
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(*(status[name].strip() for name in ("CapPrm", "CapEff", "CapInh", "CapAmb", "NoNewPrivs")))
"""
    assert in_a_child(program) == " ".join(["0" * 16] * 4) + " 1\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has capabilities to hold, and passes others on by exec")
def test_root_holds_what_it_names_and_a_program_it_starts_has_what_is_passed_on_too() -> None:
    program = """
import subprocess, sys
from collector import privileges
privileges.hold(privileges.CAP_KILL, privileges.CAP_SETPCAP, passed_on=[privileges.CAP_NET_RAW])
print(open("/proc/self/status").read(), flush=True)
subprocess.run([sys.executable, "-c", "print(open('/proc/self/status').read())"], check=True)
"""
    held, passed_on = (1 << 5 | 1 << 8), 1 << 13
    lines = [line.split() for line in in_a_child(program).splitlines() if line.startswith("Cap")]
    sets = [(name.strip(":"), int(value, 16)) for name, value in lines]
    assert dict(sets[:5]) == {
        "CapInh": 0, "CapPrm": held, "CapEff": held, "CapBnd": held | passed_on, "CapAmb": 0,
    }  # fmt: skip
    assert dict(sets[5:])["CapPrm"] == held | passed_on


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a capability to another user's programs")
def test_anyone_else_keeps_what_it_passes_on() -> None:
    program = """
import ctypes, os
from collector import privileges
ctypes.CDLL(None).prctl(8, 1, 0, 0, 0)  # PR_SET_KEEPCAPS
os.setresuid(65531, 65531, 65531)
privileges._set_capabilities([privileges.CAP_NET_RAW, privileges.CAP_KILL], inheritable=[privileges.CAP_NET_RAW])
ctypes.CDLL(None).prctl(47, 2, privileges.CAP_NET_RAW, 0, 0)  # PR_CAP_AMBIENT_RAISE
privileges.hold(privileges.CAP_SETUID, passed_on=[privileges.CAP_NET_RAW])
print(open("/proc/self/status").read())
"""
    sets = dict(line.split() for line in in_a_child(program).splitlines() if line.startswith("Cap"))
    assert {int(sets[f"Cap{name}:"], 16) for name in ("Inh", "Prm", "Eff", "Amb")} == {1 << 13}


def test_the_test_process_itself_is_open() -> None:
    """Or the tests above would tell nothing."""
    assert ctypes.CDLL(None).prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1
    assert privileges.CAP_NET_RAW == 13
