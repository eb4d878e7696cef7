"""The configuration: declared in `schema.py`, loaded by `load`, documented by `reference.py`."""

from __future__ import annotations

from collector.config.errors import ConfigError, Problem, StartError
from collector.config.load import DEFAULT_PATH, default_path, from_mapping, load, to_mapping
from collector.config.schema import Config

__all__ = [
    "DEFAULT_PATH",
    "Config",
    "ConfigError",
    "Problem",
    "StartError",
    "default_path",
    "from_mapping",
    "load",
    "to_mapping",
]
