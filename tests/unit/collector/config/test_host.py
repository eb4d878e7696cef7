from __future__ import annotations

import os
import pwd
from pathlib import Path

from collector.config import Config, Problem, from_mapping
from collector.config.host import warnings, warnings_on_this_host


def nothing_missing(_: str) -> str | None:
    return None


CONFIG = from_mapping(
    {
        "process": {"user": "here", "worker_user": "gone"},
        "capture": {"interfaces": ["lo", "eth9"]},
        "seal": {"recipients": ["/keys/a.pub", "/keys/b.pub"]},
    }
)


def test_what_the_host_lacks_is_named_with_its_option() -> None:
    def missing(path: str) -> str | None:
        return "not a file" if path == "/keys/b.pub" else None

    found = warnings(CONFIG, users=["here"], interfaces=["lo"], missing=missing)
    assert found == [
        Problem("process.worker_user", "there is no such user on this host", '"gone"'),
        Problem("capture.interfaces", 'this host has no interface "eth9" now'),
        Problem("seal.recipients", "/keys/b.pub cannot be used: not a file"),
    ]


def test_what_the_host_has_brings_no_warning() -> None:
    assert warnings(CONFIG, users=["here", "gone"], interfaces=["lo", "eth9"], missing=nothing_missing) == []


def test_the_defaults_bring_no_warning_on_any_host() -> None:
    assert warnings(Config(), users=[], interfaces=[], missing=nothing_missing) == []


def test_users_interfaces_and_files_of_this_host_are_seen(tmp_path: Path) -> None:
    key = tmp_path / "reader.pub"
    key.write_text("key")
    config = from_mapping(
        {
            "process": {"user": pwd.getpwuid(os.geteuid()).pw_name, "worker_user": "no-such-user"},
            "capture": {"interfaces": ["lo", "no-such-if"]},
            "seal": {"recipients": [str(key), str(tmp_path), str(tmp_path / "gone")]},
        }
    )
    assert [str(problem) for problem in warnings_on_this_host(config)] == [
        'process.worker_user = "no-such-user": there is no such user on this host',
        'capture.interfaces: this host has no interface "no-such-if" now',
        f"seal.recipients: {tmp_path} cannot be used: not a file",
        f"seal.recipients: {tmp_path}/gone cannot be used: No such file or directory",
    ]
