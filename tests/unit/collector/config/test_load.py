from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.config import DEFAULT_PATH, Config, ConfigError, default_path, from_mapping, load, to_mapping
from collector.config.schema import OPTIONS, SECTIONS


def problems_of(path: Path | None, *overrides: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(path, overrides)
    return [str(problem) for problem in caught.value.problems]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "querytap.toml"


def test_without_a_file_every_option_has_its_default() -> None:
    config = load(None)
    assert config == Config()
    assert config.capture.ring_mib == 64
    assert config.paths.state == "/var/lib/querytap"


def test_a_file_sets_what_it_names_and_nothing_else(path: Path) -> None:
    path.write_text('[capture]\nports = [3306, 3307]\nresponses = "none"\n[batch]\nmax_age_s = 1\n')
    config = load(path)
    assert config.capture.ports == (3306, 3307)
    assert config.capture.responses == "none"
    assert config.batch.max_age_s == 1.0
    assert dataclasses.replace(config, capture=Config().capture, batch=Config().batch) == Config()


def test_an_override_wins_over_the_file_and_the_last_one_over_those_before(path: Path) -> None:
    path.write_text("[workers]\ncount = 2\n")
    assert load(path, ["workers.count=3", "workers.count = 4"]).workers.count == 4


def test_an_override_mends_a_value_of_the_file(path: Path) -> None:
    path.write_text("[workers]\ncount = 0\n")
    assert load(path, ["workers.count=1"]).workers.count == 1


def test_a_loaded_configuration_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        load(None).capture.ring_mib = 1  # type: ignore[misc]  # what is tested


def test_all_problems_are_reported_at_once_with_file_and_line(path: Path) -> None:
    path.write_text(
        "ring_mib = 8\n"
        "paths = 5\n"
        "[capture]\n"
        "ring_mb = 64\n"
        "ring_mib = 0\n"
        'ports = ["3306"]\n'
        'mode = "slow"\n'
        "[captures]\n"
        "ring_mib = 8\n"
        "[batch]\n"
        "max_age_s = nan\n"
    )
    assert problems_of(path, "workers.count=true", "seal.x=1") == [
        f"{path}:1: ring_mib: is in no section, did you mean capture.ring_mib?",
        f"{path}:2: paths = 5: must be a section, once: [paths]",
        f"{path}:8: captures: unknown section, did you mean capture?",
        f"{path}:4: capture.ring_mb: unknown option, did you mean ring_mib?",
        f"{path}:5: capture.ring_mib = 0: must be between 1 and 4096",
        f'{path}:6: capture.ports = ["3306"]: must be a list of whole numbers',
        f'{path}:7: capture.mode = "slow": not available yet; must be "full" or "monitor"',
        f"{path}:11: batch.max_age_s = nan: must be between 1 and 60",
        "--set: workers.count = true: must be a whole number",
        "--set: seal.x: unknown option, there are recipients",
    ]


def test_a_section_that_is_written_as_a_list_is_refused(path: Path) -> None:
    path.write_text("[[workers]]\ncount = 1\n")
    assert problems_of(path) == [f"{path}: workers = [{{count = 1}}]: must be a section, once: [workers]"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"[capture", "is not TOML: Expected ']' at the end of a table declaration (at end of document)"),
        (b"[capture]\n[capture]\n", "is not TOML: Cannot declare ('capture',) twice (at line 2, column 9)"),
        (b"# caf\xe9\n", "is not UTF-8 at byte 5"),
        (b"x = " + b"9" * 5000, "is not TOML: Exceeds the limit"),
        (b"x = " + b"[" * 5000, "is not TOML: maximum recursion depth exceeded"),
    ],
)
def test_a_file_that_cannot_be_parsed_is_told_why_beside_problems_of_overrides(
    path: Path, content: bytes, problem: str
) -> None:
    path.write_bytes(content)
    of_file, of_override = problems_of(path, "workers.count=0")
    assert of_file.startswith(f"{path}: {problem}")
    assert of_override == "--set: workers.count = 0: must be between 1 and 64"


def test_a_file_that_is_named_and_not_there_is_a_problem(path: Path) -> None:
    assert problems_of(path) == [f"{path}: cannot be read: No such file or directory"]
    assert problems_of(path.parent) == [f"{path.parent}: cannot be read: Is a directory"]


@pytest.mark.parametrize(
    ("override", "problem"),
    [
        ("workers.count", '--set "workers.count": must be section.name=value'),
        ("count=1", '--set "count=1": must be section.name=value'),
        (".count=1", '--set ".count=1": must be section.name=value'),
        ("workers.=1", '--set "workers.=1": must be section.name=value'),
        ("worker.count=1", "--set: worker.count: unknown section, did you mean workers?"),
        ("workers.count=", "--set: workers.count: is not a TOML value (a text needs its quotes)"),
        ("workers.count.x=1", "--set: workers.count.x: unknown option, did you mean count?"),
        ("paths.run=/r", "--set: paths.run = /r: is not a TOML value (a text needs its quotes)"),
        (
            "workers.count=1\n[paths]",
            "--set: workers.count = 1 [paths]: is not a TOML value (a text needs its quotes)",
        ),
        ("workers.count=0x" + "f" * 9000, "--set: workers.count = 0x" + "f" * 75 + "...: must be between 1 and 64"),
    ],
)
def test_an_override_that_is_not_understood_is_told_why(override: str, problem: str) -> None:
    assert problems_of(None, override) == [problem]


def test_a_problem_with_a_store_url_does_not_repeat_its_secret() -> None:
    bare, quoted = problems_of(
        None, 'store.url="s3://key:se/c@ret@bucket/x?token=secret"', "paths.run=s3://me:secret@x"
    )
    assert bare == "--set: paths.run = s3://...@x: is not a TOML value (a text needs its quotes)"
    assert quoted == '--set: store.url = "s3://...@bucket/x?...": must not carry a password, key or query'


def test_a_key_that_would_move_the_cursor_is_shown_without_that(path: Path) -> None:
    path.write_text('[capture]\n"ring\\u001b[2J\\nall is well" = 1\n')
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert str(caught.value).isprintable()
    assert "capture.ring [2J all is well: unknown option" in str(caught.value)


@pytest.mark.parametrize(
    ("overrides", "problem"),
    [
        (
            ["decode.max_flow_buffer_kib=300000"],
            "decode.max_flow_buffer_kib = 300000: one connection (decode.max_flow_buffer_kib) must not hold more than "
            "all together (decode.max_buffer_mib)",
        ),
        (
            ["decode.max_buffer_mib=15"],
            "decode.max_buffer_mib = 15: one statement (decode.max_statement_kib) must fit into what all connections "
            "hold (decode.max_buffer_mib)",
        ),
        (
            ["batch.block_age_ms=1001", "batch.max_age_s=1"],
            "batch.block_age_ms = 1001: a block (batch.block_age_ms) must not get older than its batch "
            "(batch.max_age_s)",
        ),
        (
            ["store.local_max_mib=7"],
            "store.local_max_mib = 7: the archive (store.local_max_mib) must have room for one batch (batch.max_mib)",
        ),
        (
            ['paths.state="/run/querytap/"'],
            'paths.state = "/run/querytap/": paths.run and paths.state must be different folders',
        ),
    ],
)
def test_options_that_contradict_each_other_are_a_problem_of_the_one_that_was_given(
    overrides: list[str], problem: str
) -> None:
    assert problems_of(None, *overrides) == [f"--set: {problem}"]


def test_a_rule_about_a_value_that_was_refused_is_not_reported_as_well() -> None:
    assert problems_of(None, "batch.block_age_ms=5000", "batch.max_age_s=0") == [
        "--set: batch.max_age_s = 0: must be between 1 and 60"
    ]


def test_a_configuration_goes_to_another_process_as_json_and_comes_back_equal() -> None:
    config = load(None, ["capture.ports=[3306]", 'seal.recipients=["/a.pub"]', "batch.max_age_s=2.5"])
    assert from_mapping(json.loads(json.dumps(to_mapping(config)))) == config


def test_a_mapping_with_problems_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        from_mapping({"capture": {"ring_mib": 0}, "x": {}, "workers": 1})
    assert [problem.key for problem in caught.value.problems] == ["x", "workers", "capture.ring_mib"]


def test_the_default_file_counts_only_where_it_exists(path: Path) -> None:
    assert default_path(path) is None
    path.write_text("")
    assert default_path(path) == path


def test_a_default_file_that_cannot_be_looked_at_is_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(_: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "exists", locked)
    assert default_path() == DEFAULT_PATH


_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
_VALUES = _SCALARS | st.lists(_SCALARS, max_size=3) | st.dictionaries(st.text(), _SCALARS, max_size=2)
_NAMES = st.sampled_from([option.name for option in OPTIONS.values()]) | st.text()
_MAPPINGS = st.dictionaries(
    st.sampled_from(list(SECTIONS)) | st.text(), st.dictionaries(_NAMES, _VALUES, max_size=4) | _VALUES, max_size=4
)


@given(_MAPPINGS)
def test_any_mapping_gives_a_configuration_that_round_trips_or_a_config_error(mapping: dict[str, object]) -> None:
    try:
        config = from_mapping(mapping)
    except ConfigError:
        return
    assert from_mapping(to_mapping(config)) == config
