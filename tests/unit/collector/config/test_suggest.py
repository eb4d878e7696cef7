from __future__ import annotations

from collector.config.suggest import unknown_option, unknown_section, unknown_word


def test_a_misspelt_section_is_told_the_closest_one() -> None:
    assert unknown_section("captur", is_table=True) == "unknown section, did you mean capture?"


def test_a_section_like_no_other_is_told_all_there_are() -> None:
    text = unknown_section("xyzzy", is_table=True)
    assert text.startswith("unknown section, there are capture, workers, ")
    assert text.endswith(", paths")


def test_an_option_outside_of_its_section_is_told_the_section() -> None:
    assert unknown_section("ring_mib", is_table=False) == "is in no section, did you mean capture.ring_mib?"


def test_a_misspelt_option_is_told_the_closest_one_of_its_section() -> None:
    assert unknown_option("capture.ring_mb") == "unknown option, did you mean ring_mib?"


def test_an_option_in_the_wrong_section_is_told_the_right_one() -> None:
    assert unknown_option("capture.zstd_level") == "unknown option, did you mean batch.zstd_level?"


def test_an_option_like_no_other_is_told_all_of_its_section() -> None:
    assert unknown_option("paths.xyzzy") == "unknown option, there are state, run"


def test_a_word_to_explain_is_compared_with_keys_names_and_sections() -> None:
    assert unknown_word("capture.ring_mb") == "unknown option, did you mean capture.ring_mib?"
    assert unknown_word("zstd_leve") == "unknown option, did you mean zstd_level?"
    assert unknown_word("worker") == "unknown option, did you mean workers?"
    assert unknown_word("xyzzy").startswith("unknown option, there are capture, workers, ")
