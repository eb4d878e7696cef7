"""The number of a capture process, by which blocks and figures of one are told from those of another."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Final

from collector import jsonfile
from collector.boot import boot_id
from collector.channel import GENERATIONS
from collector.config import StartError
from collector.places import GENERATION_FILE

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

_log = logging.getLogger("capture")


def next_generation(state: Path, run: Path) -> int:
    """One more than that of the last one since the host was booted, which is kept in the folder *state*.

    Where that takes nothing, it is kept in *run*. Raises StartError.
    """
    boot = boot_id()
    number = (max(_last(folder / GENERATION_FILE, boot) for folder in (state, run)) + 1) % GENERATIONS
    try:
        _keep(state, boot, number)
    except OSError as error:
        _log.warning("%s: %s; what is to be kept there is in %s until it can be", state, error.strerror, run)
    else:
        (run / GENERATION_FILE).unlink(missing_ok=True)
        return number
    try:
        _keep(run, boot, number)
    except OSError as error:
        raise StartError(f"{run / GENERATION_FILE} cannot be written: {error.strerror}", "see to its disk") from error
    return number


def _last(path: Path, boot: str) -> int:
    try:
        found = jsonfile.read(path)
        return int(found["generation"]) if found and found.get("boot") == boot else -1
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StartError(f"{path} cannot be used: {error}", "remove it") from error


def _keep(folder: Path, boot: str, number: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, _FOLDER)
    try:
        jsonfile.replace(descriptor, GENERATION_FILE, {"boot": boot, "generation": number})
    finally:
        os.close(descriptor)
