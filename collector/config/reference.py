"""What is derived from the declarations: the sample file, docs/configuration.md and the text of `querytap explain`.

`python -m collector.config.reference --write`, from the top of the source tree, brings the committed files up to date;
without `--write` it names those that are not, and ends with 1.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from collector.config.load import DEFAULT_PATH
from collector.config.option import IN_WORDS, Option, toml
from collector.config.rules import RULES
from collector.config.schema import OPTIONS, SECTIONS

SAMPLE_PATH = "packaging/etc/querytap.toml"
DOCUMENT_PATH = "docs/configuration.md"

_WIDTH = 100


def generated() -> dict[str, str]:
    """The text of every derived file, by its path in the source tree."""
    return {SAMPLE_PATH: sample(), DOCUMENT_PATH: document()}


def sample() -> str:
    """A configuration file that says nothing: each option with its default, commented out."""
    lines = [
        f"# The configuration of querytap, to be put at {DEFAULT_PATH}.",
        "# Each option is here with its default, commented out. `querytap check` reports what is wrong with this file,",
        "# `querytap explain NAME` says the same as the comments here.",
    ]
    for section in SECTIONS:
        lines += ["", f"[{section}]", *_comment(meaning_of(section))]
        for option in options_in(section):
            lines += ["", *_comment(option.meaning), *_comment(f"Allowed: {allowed(option)}")]
            if option.example is not None:
                lines.append(f"# Example: {option.name} = {toml(option.example)}")
            lines.append(f"# A change takes effect {IN_WORDS[option.applies]}.")
            lines.append(f"#{option.name} = {toml(option.default)}")
    return "\n".join(lines) + "\n"


def document() -> str:
    """docs/configuration.md: how options are given, and a table for each section."""
    lines = [
        "# Configuration",
        "",
        "<!-- Written by `python -m collector.config.reference --write` from collector/config/schema.py. -->",
        "",
        f"querytap reads one TOML file: the one named with `--config`, or `{DEFAULT_PATH}` where that exists.",
        "Without a file every option has its default. `--set SECTION.NAME=VALUE` sets one option over the file and may",
        "be repeated; VALUE is TOML, so a text needs its quotes: `--set 'paths.state=\"/srv/querytap\"'`.",
        "",
        "What is not declared here is an error, and so is a value outside its bounds. `querytap check` reports every",
        "problem at once with its place, and ends with 2 when there is one. It also warns, without failing, of users,",
        "interfaces and key files that this host does not have. `querytap explain NAME` shows one option.",
        f"`{SAMPLE_PATH}` is a file with every option in it.",
        "",
        "On SIGHUP a running querytap reads its file again. A change then takes effect where it says *reload* below,",
        "and waits for a restart where it says *restart*; [reload.md](reload.md) shows both.",
    ]
    for section in SECTIONS:
        lines += ["", f"## [{section}]", "", meaning_of(section), ""]
        lines += ["| option | default | unit | allowed | change | meaning |", "| --- | --- | --- | --- | --- | --- |"]
        lines += [_row(option) for option in options_in(section)]
    lines += ["", "## What must hold between options", "", *(f"- {rule.text}" for rule in RULES)]
    return "\n".join(lines) + "\n"


def explanation(option: Option) -> str:
    """All that is declared of *option*, for a terminal."""
    unit = f" {option.unit}" if option.unit else ""
    facts = [
        ("type", option.kind.value),
        ("default", f"{toml(option.default)}{unit}"),
        ("allowed", allowed(option)),
        ("example", f"{option.name} = {toml(option.example)}" if option.example is not None else ""),
        ("change", f"takes effect {IN_WORDS[option.applies]}"),
        *(("rule", rule.text) for rule in RULES if option.key in rule.keys),
    ]
    lines = [option.key, *_wrapped(option.meaning, "  "), ""]
    for name, fact in facts:
        if fact:
            lines += _wrapped(fact, f"  {name:<9}", " " * 11)
    return "\n".join(lines)


def overview() -> str:
    """Every section and option with its default and the first sentence of its meaning, for a terminal."""
    lines: list[str] = []
    for section in SECTIONS:
        lines += [f"[{section}]  {meaning_of(section)}"]
        for option in options_in(section):
            unit = f" {option.unit}" if option.unit else ""
            lines.append(f"  {option.name} = {toml(option.default)}{unit}")
            lines += _wrapped(_first_sentence(option.meaning), "      ")
        lines.append("")
    return "\n".join(lines[:-1])


def find(word: str) -> list[Option]:
    """The options that *word* means: a key, a section (all of it), or the name of options without their section."""
    if word in OPTIONS:
        return [OPTIONS[word]]
    return options_in(word) or [option for option in OPTIONS.values() if option.name == word]


def options_in(section: str) -> list[Option]:
    """The options of *section*, in the order of the file."""
    return [option for option in OPTIONS.values() if option.section == section]


def meaning_of(section: str) -> str:
    """What *section* is about: the docstring of its class."""
    return str(SECTIONS[section].__doc__)


def allowed(option: Option) -> str:
    """The bounds of *option* with its unit."""
    return f"{option.check.bounds} {option.unit}".rstrip()


def main(argv: Sequence[str] | None = None, root: Path = Path()) -> int:
    """Compare or write the derived files below *root*; 1 when a comparison found one that is stale."""
    parser = argparse.ArgumentParser(prog="python -m collector.config.reference", description=main.__doc__)
    parser.add_argument("--write", action="store_true", help="write what is stale")
    write = parser.parse_args(argv).write
    if not (root / "pyproject.toml").is_file():
        parser.error("run it from the top of the source tree")
    stale = list(_stale(root))
    for path, text in stale:
        if write:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path}: {'written' if write else 'stale'}\n")
    return 1 if stale and not write else 0


def _stale(root: Path) -> Iterator[tuple[Path, str]]:
    for name, text in generated().items():
        path = root / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            yield path, text


def _row(option: Option) -> str:
    example = f" Example: `{toml(option.example)}`." if option.example is not None else ""
    cells = (
        f"`{option.name}`",
        f"`{toml(option.default)}`",
        option.unit,
        option.check.bounds,
        option.applies,
        option.meaning + example,
    )
    return f"| {' | '.join(cells)} |"


def _comment(text: str) -> list[str]:
    return _wrapped(text, "# ")


def _wrapped(text: str, first: str, further: str | None = None) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=first if further is None else further,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].rstrip(".") + "."


if __name__ == "__main__":
    sys.exit(main())
