from __future__ import annotations

import pytest

from collector.cli.main import main
from collector.config import reference
from collector.config.schema import OPTIONS


def test_without_a_name_all_options_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    assert capsys.readouterr().out == reference.overview() + "\n"


@pytest.mark.parametrize("name", ["capture.ring_mib", "ring_mib"])
def test_an_option_is_explained_by_key_or_by_name(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", name]) == 0
    assert capsys.readouterr().out == reference.explanation(OPTIONS["capture.ring_mib"]) + "\n"


def test_a_section_is_explained_option_by_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "paths"]) == 0
    assert capsys.readouterr().out == "\n\n".join(
        [reference.explanation(OPTIONS["paths.state"]), reference.explanation(OPTIONS["paths.run"]) + "\n"]
    )


def test_an_unknown_name_is_an_error_with_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "ring_mb"]) == 2
    assert capsys.readouterr() == ("", "querytap: ring_mb: unknown option, did you mean ring_mib?\n")
