from __future__ import annotations

import runpy
import tomllib
from pathlib import Path

import pytest

from collector.config import Config, load, reference
from collector.config.load import to_mapping
from collector.config.option import IN_WORDS, Option
from collector.config.rules import RULES
from collector.config.schema import OPTIONS, SECTIONS


def test_the_sample_says_nothing_and_loads(tmp_path: Path) -> None:
    path = tmp_path / "querytap.toml"
    path.write_text(reference.sample())
    assert load(path) == Config()
    assert tomllib.loads(reference.sample()) == {section: {} for section in SECTIONS}


def test_the_sample_says_of_each_option_when_a_change_of_it_takes_effect() -> None:
    lines = reference.sample().splitlines()
    settings = [at for at, line in enumerate(lines) if line.startswith("#") and not line.startswith("# ")]
    for at, option in zip(settings, OPTIONS.values(), strict=True):
        assert lines[at].startswith(f"#{option.name} = ")
        assert lines[at - 1] == f"# A change takes effect {IN_WORDS[option.applies]}."


def test_the_sample_without_its_comment_signs_is_every_default() -> None:
    lines = [line.removeprefix("#") if not line.startswith("# ") else "" for line in reference.sample().splitlines()]
    assert tomllib.loads("\n".join(lines)) == to_mapping(Config())


def test_no_line_of_the_sample_is_longer_than_a_terminal_is_wide() -> None:
    assert max(map(len, reference.sample().splitlines())) <= 120


def test_the_document_has_a_row_for_every_option_and_every_rule() -> None:
    rows = [line for line in reference.document().splitlines() if line.startswith("| `")]
    assert len(rows) == len(OPTIONS)
    for row, option in zip(rows, OPTIONS.values(), strict=True):
        cells = row.strip("| ").split(" | ")
        assert cells[0] == f"`{option.name}`"
        assert len(cells) == 6
        assert option.check.bounds == cells[3]
        assert option.applies == cells[4]
        assert option.meaning in cells[5]
    for rule in RULES:
        assert f"- {rule.text}\n" in reference.document()


def test_an_explanation_has_type_default_bounds_example_and_rules() -> None:
    assert reference.explanation(OPTIONS["decode.max_flow_buffer_kib"]) == (
        "decode.max_flow_buffer_kib\n"
        "  Most bytes of one connection that wait for a missing segment. Beyond it the missing bytes are\n"
        "  given up as lost.\n"
        "\n"
        "  type     a whole number\n"
        "  default  1024 KiB\n"
        "  allowed  16 to 1048576 KiB\n"
        "  change   takes effect after a restart\n"
        "  rule     one connection (decode.max_flow_buffer_kib) must not hold more than all together\n"
        "           (decode.max_buffer_mib)"
    )
    ports = reference.explanation(OPTIONS["capture.ports"])
    assert "  example  ports = [3306, 3307]\n  change   takes effect on a reload (SIGHUP)" in ports


def test_the_overview_names_every_section_and_option_with_its_default() -> None:
    text = reference.overview()
    for section in SECTIONS:
        assert f"[{section}]  " in text
    assert "  ring_mib = 64 MiB\n      Memory of the kernel's packet ring of one worker.\n" in text
    assert "  zstd_level = 1\n" in text
    assert text.count(" = ") == len(OPTIONS)


@pytest.mark.parametrize(
    ("word", "keys"),
    [
        ("capture.mode", ["capture.mode"]),
        ("ring_mib", ["capture.ring_mib"]),
        ("paths", ["paths.state", "paths.run"]),
        ("run", ["paths.run"]),
        ("xyzzy", []),
    ],
)
def test_an_option_is_found_by_key_name_or_section(word: str, keys: list[str]) -> None:
    assert [option.key for option in reference.find(word)] == keys


def test_stale_files_are_named_and_written_only_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample, document = (tmp_path / name for name in (reference.SAMPLE_PATH, reference.DOCUMENT_PATH))
    (tmp_path / "pyproject.toml").touch()
    assert reference.main([], tmp_path) == 1
    assert capsys.readouterr().out == f"{sample}: stale\n{document}: stale\n"
    assert not sample.exists()
    assert reference.main(["--write"], tmp_path) == 0
    assert {sample: sample.read_text(), document: document.read_text()} == {
        tmp_path / name: text for name, text in reference.generated().items()
    }
    document.write_text("by hand")
    capsys.readouterr()
    assert reference.main([], tmp_path) == 1
    assert capsys.readouterr().out == f"{document}: stale\n"
    assert reference.main(["--write"], tmp_path) == 0
    assert reference.main([], tmp_path) == 0


def test_nothing_is_written_outside_of_a_source_tree(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        reference.main(["--write"], tmp_path)
    assert ended.value.code == 2
    assert list(tmp_path.iterdir()) == []


def test_the_module_can_be_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["reference", "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(reference.__file__, run_name="__main__")
    assert ended.value.code == 0
    assert "--write" in capsys.readouterr().out


@pytest.mark.parametrize("option", OPTIONS.values(), ids=OPTIONS.keys())
def test_no_text_breaks_the_markdown_table(option: Option) -> None:
    assert "|" not in option.meaning + option.check.bounds + option.unit
