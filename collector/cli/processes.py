"""What the processes tell of themselves in PROCESSES_FILE: who wrote it last is asked, and what it says is checked."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from collector import jsonfile, places


class ProcessesError(Exception):
    """A file of processes is not one, or cannot be read; the message names it."""


def read(run_folder: str) -> Mapping[str, Any]:
    """What the supervisor tells or, where they are services of their own, capture; empty where neither does.

    Both files are there where one of them was killed and the other came after it: the one that was written last counts.
    Raises ProcessesError.
    """
    folders = (Path(run_folder), places.capture_run(run_folder))
    found = [
        (written, path)
        for path in (folder / places.PROCESSES_FILE for folder in folders)
        if (written := _written(path))
    ]
    if not found:
        return {}
    _, path = max(found)
    try:
        told = jsonfile.read(path)
    except (OSError, ValueError) as error:
        raise ProcessesError(_cannot(path, str(error))) from error
    if told is None:  # removed at this moment: its writer has ended
        return {}
    wrong = [name for name, fits in _FIELDS.items() if not _fits(told.get(name), fits)]
    if not wrong and not set(told.get("kept_user") or ()) <= set(told["users"]):
        wrong = ["kept_user"]
    if wrong:
        raise ProcessesError(_cannot(path, f"it lacks, or has in another form: {', '.join(wrong)}"))
    return told


def _written(path: Path) -> int:
    """When, in ns; 0 where there is none."""
    try:
        return path.lstat().st_mtime_ns
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise ProcessesError(_cannot(path, error.strerror or "")) from error


def _cannot(path: Path, reason: str) -> str:
    return f"{path} cannot be read: {reason}; whoever writes it does so anew when it is started again"


def _fits(value: Any, fits: Callable[[Any], object]) -> bool:  # noqa: ANN401  # JSON
    try:
        return bool(fits(value))
    except (TypeError, ValueError, KeyError):
        return False


def _numbers(value: Any) -> bool:  # noqa: ANN401  # JSON
    return isinstance(value, list) and all(isinstance(one, int) for one in value)


def _texts(value: Any) -> bool:  # noqa: ANN401  # JSON
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _map(value: Any, kind: type) -> bool:  # noqa: ANN401  # JSON
    return isinstance(value, dict) and all(isinstance(one, kind) for one in value.values())


def _times(value: Any) -> bool:  # noqa: ANN401  # JSON
    return _map(value, str) and all(dt.datetime.fromisoformat(time).tzinfo for time in value.values())


def _reload(value: Any) -> bool:  # noqa: ANN401  # JSON
    return isinstance(value["time"], str) and all(
        map(_texts, (value[name] for name in ("changed", "waiting", "problems")))
    )


_FIELDS: Final[Mapping[str, Callable[[Any], object]]] = {
    "ports": _numbers,
    "capture": _texts,
    "interfaces": _texts,
    "restarts": lambda value: _map(value, int),
    "restarted": lambda value: value is None or _times(value),
    "users": lambda value: _map(value, str),
    "kept_user": lambda value: value is None or _texts(value),
    "sealed_by": lambda value: isinstance(value, str),
    "unsealed_by": _texts,
    "waiting": lambda value: value is None or isinstance(value, str),
    "warnings": lambda value: value is None or _texts(value),
    "reload": lambda value: value is None or _reload(value),
}
"""What `querytap status` shows of them. None: a writer need not know it."""
