"""A configuration file and overrides give a Config that survives its own mapping, or a printable ConfigError."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from collector import config
from collector.config.errors import Problem
from collector.config.schema import OPTIONS
from tests.fuzz.script import Script, damaged

_NAMES: Final = (*OPTIONS, "capture.prots", "nothing.at_all", "capture", "")
_VALUES: Final = (
    b"1", b"0", b"-1", b"1.5", b"true", b'"full"', b'""', b"[]", b"[3306, 3307]", b'["eth0"]', b'"file:///x"', b"1e400",
    b'"s3://user:secret@bucket/x?key=secret"', b'"/a/b"', b"[[[[]]]]", b"{a = 1}", b"1979-05-27", b"nan", b"inf",
    b"99999999999999999999", b'"""\ntwo\nlines"""', b'"\\u0000"', b'"first"', b"0x10", b'"\\u001b[31m"', b"[70000]",
    b"'\xff'", b"[" * 60, b"9" * 5000,
)  # fmt: skip
_FILE: Final = os.memfd_create("config")
_PATH: Final = Path(f"/proc/self/fd/{_FILE}")


def _assignments(script: Script) -> bytes:
    lines = []
    for _ in range(script.byte() % 6):
        section, _, name = script.pick(_NAMES).partition(".")
        value = script.pick(_VALUES) if script.byte() & 0xC0 else script.piece()
        how = script.byte()
        header = b"[[%s]]" if how & 0x81 == 0x81 else b"[%s]"
        if not how & 2:
            lines.append(header % section.encode())
        key = f"{section}.{name}" if how & 2 else name
        lines.append(key.encode() + b" = " + value)
    return b"\n".join(lines)


def _overrides(script: Script) -> list[str]:
    found = []
    for _ in range(script.byte() % 3):
        value = script.pick(_VALUES) if script.byte() & 1 else script.piece()
        equals = "=" if script.byte() & 3 else ""
        found.append(script.pick(_NAMES) + equals + value.decode("utf-8", "surrogateescape"))
    return found


def _refused(problems: Sequence[Problem], *, whole: bool) -> int:
    """What is said of a configuration that may be *whole* but for its values."""
    assert problems
    for problem in problems:  # their keys are as they were given
        said = problem.text + problem.value
        assert all(sign.isprintable() for sign in said), "signs that do not print"
        named = whole and problem.place != "--set"
        assert not named or "secret" not in said, "a secret of a URL is shown"
    return hash(tuple(problem.text[:30] for problem in problems[:4]))


def run(data: bytes) -> int:
    """One input; what came of it in short."""
    script = Script(data)
    shape = script.byte()
    overrides = _overrides(script)
    text = script.rest() if shape & 3 == 3 else _assignments(script)
    if shape & 4:
        text = damaged(script, text)
    path = None
    if not shape & 8:
        os.ftruncate(_FILE, 0)
        os.pwrite(_FILE, text, 0)
        path = _PATH
    try:
        made = config.load(path, overrides)
    except config.ConfigError as error:
        return _refused(error.problems, whole=shape & 7 == 0)
    mapping = config.to_mapping(made)
    assert config.from_mapping(json.loads(json.dumps(mapping))) == made, "a configuration is changed on its way"
    return hash(str(mapping))


SEEDS: Final = {
    "empty": bytes((0,)),
    "set": bytes((0, 1, 1, 0, 3, 1)),
    "file": bytes((0, 0, 2, 0, 8, 0xC0, 0, 5, 0, 0xC0, 2)),
    "unknown": bytes((0, 0, 1, len(OPTIONS), 0, 0xC0, 0)),
    "damaged": bytes((4, 0, 2, 0, 8, 0xC0, 0, 5, 0, 0xC0, 2, 0, 3, 9)),
    "raw": b'\x03\0[capture]\nports = [3306]\nresponses = "none"\n',
    "defaults": bytes((8, 0)),
}
"""Where a corpus begins."""
