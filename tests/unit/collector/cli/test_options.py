from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from collector.cli.options import add_config_arguments, config_from
from collector.config import Config


def parse(*argv: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_config_arguments(parser)
    return parser.parse_args(argv)


def test_the_file_and_the_overrides_make_the_configuration(tmp_path: Path) -> None:
    path = tmp_path / "querytap.toml"
    path.write_text("[workers]\ncount = 2\n[batch]\nmax_mib = 4\n")
    config = config_from(parse("--config", str(path), "--set", "workers.count=3"))
    assert (config.workers.count, config.batch.max_mib) == (3, 4)


def test_the_default_file_is_read_where_it_exists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "querytap.toml"
    path.write_text("[workers]\ncount = 2\n")
    monkeypatch.setattr("collector.cli.options.default_path", lambda: path)
    assert config_from(parse()).workers.count == 2


def test_without_any_file_the_defaults_apply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collector.cli.options.default_path", lambda: None)
    assert config_from(parse()) == Config()
