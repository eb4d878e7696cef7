from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Callable
from types import ModuleType

import pytest

from collector.cli import main as cli
from collector.config import ConfigError, Problem, StartError


def command_that(monkeypatch: pytest.MonkeyPatch, run: Callable[[argparse.Namespace], int]) -> None:
    """Put a command in the place of `querytap check`."""
    module = ModuleType("collector.cli.check")
    module.add_arguments = lambda parser: parser.add_argument("--own")  # type: ignore[attr-defined]  # a module's names
    module.run = run  # type: ignore[attr-defined]  # as above
    monkeypatch.setitem(sys.modules, "collector.cli.check", module)


def raising(error: BaseException) -> Callable[[argparse.Namespace], int]:
    def run(_: argparse.Namespace) -> int:
        raise error

    return run


def test_the_exit_code_is_that_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    command_that(monkeypatch, lambda _: 1)
    assert cli.main(["check"]) == 1


def test_a_command_gets_its_own_and_the_shared_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[argparse.Namespace] = []

    def run(arguments: argparse.Namespace) -> int:
        seen.append(arguments)
        return 0

    command_that(monkeypatch, run)
    assert cli.main(["check", "--own", "x", "--set", "workers.count=2", "--set", "workers.count=3"]) == 0
    assert seen[0].own == "x"
    assert seen[0].set == ["workers.count=2", "workers.count=3"]


def test_a_config_error_is_a_list_on_stderr_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command_that(monkeypatch, raising(ConfigError([Problem("a.b", "wrong"), Problem("c.d", "bad")])))
    assert cli.main(["check"]) == 2
    assert capsys.readouterr() == ("", "querytap: 2 problems:\n  a.b: wrong\n  c.d: bad\n")


def test_a_single_problem_needs_no_headline() -> None:
    assert cli.config_message(ConfigError([Problem("a.b", "wrong")])) == "querytap: a.b: wrong"


def test_a_start_error_is_its_message_and_remedy_on_stderr_and_exit_code_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command_that(monkeypatch, raising(StartError("no key", "run `querytap keygen`")))
    assert cli.main(["check"]) == 3
    assert capsys.readouterr() == ("", "querytap: cannot start: no key\nrun `querytap keygen`\n")


def test_an_interrupt_ends_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    command_that(monkeypatch, raising(KeyboardInterrupt()))
    assert cli.main(["check"]) == 130


def test_a_broken_pipe_that_is_not_stdout_is_not_hidden(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    command_that(monkeypatch, raising(BrokenPipeError()))
    with pytest.raises(BrokenPipeError):
        cli.main(["check"])
    assert capfd.readouterr() == ("", "")


def test_output_that_nobody_reads_ends_without_a_word() -> None:
    command = [sys.executable, "-m", "collector.cli", "explain"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert said == b""
    assert process.returncode == 141


def test_a_closed_stdout_is_no_error() -> None:
    ended = subprocess.run(
        ["/bin/sh", "-c", f"exec {sys.executable} -m collector.cli explain >&-"], capture_output=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.parametrize("argv", [[], ["nonsense"], ["check", "--nonsense"], ["--config", "x", "check"]])
def test_wrong_usage_ends_with_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(argv)
    assert ended.value.code == 2
    assert "usage: querytap" in capsys.readouterr().err


def test_the_help_names_every_command_without_importing_one(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    for command in cli.COMMANDS:
        assert re.search(rf"^    {command.name}\s", said, re.MULTILINE)
        assert command.help in " ".join(said.split())


def test_only_the_module_of_the_chosen_command_is_imported() -> None:
    code = (
        "import sys; from collector.cli import main; main.main(['explain', 'ring_mib']);"
        "names = {'collector.cli.' + command.name for command in main.COMMANDS};"
        "print(sorted(names & sys.modules.keys()))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert ended.stdout.splitlines()[-1] == "['collector.cli.explain']"


def test_the_version_is_that_of_the_installed_package(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.metadata.version", {"querytap": "1.2.3"}.__getitem__)
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == "querytap 1.2.3\n"


def test_sources_that_are_not_installed_have_no_version(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from importlib import metadata

    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.version", missing)
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    assert capsys.readouterr().out == "querytap (not installed)\n"


@pytest.mark.parametrize("command", cli.COMMANDS, ids=lambda command: command.name)
def test_every_command_of_the_table_can_be_asked_for_help(
    command: cli.Command, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main([command.name, "--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert said.startswith(f"usage: querytap {command.name} ")
    assert ("--set" in said) == command.configured
