"""Help and mistakes of the command line: valid examples, one-line errors, suggestions, no heavy imports."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from dond.cli.main import command as dond_group
from tests.command import HERE, PROGRAM, dond, in_process

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "scripts").glob("*.py"))


def subcommand(group: click.Group, name: str) -> click.Command | None:
    """A command of a group."""
    return group.get_command(click.Context(group), name)


def commands(group: click.Group, *names: str) -> Iterator[tuple[str, ...]]:
    """The path of every command below a group."""
    for name in group.list_commands(click.Context(group)):
        command = subcommand(group, name)
        assert command is not None
        yield (*names, name)
        if isinstance(command, click.Group):
            yield from commands(command, *names, name)


COMMANDS = [(), *commands(dond_group)]


def _names(command: click.Command) -> list[str]:
    """Names of a group's subcommands."""
    return command.list_commands(click.Context(command)) if isinstance(command, click.Group) else []


def resolved(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that the words name, and the remaining words."""
    command: click.Command = dond_group
    while words and isinstance(command, click.Group):
        below = subcommand(command, words[0])
        if below is None:
            break
        command, words = below, words[1:]
    return command, words


def examples(text: str) -> list[list[str]]:
    """The example commands at the end of a help text, split into words."""
    lines = text.partition("Examples:\n")[2].replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True) for line in lines if line.strip()]


def options(command: click.Command) -> set[str]:
    return {name for parameter in command.params for name in parameter.opts} | {"--help", "-h"}


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_help_examples_are_valid_commands(names, capsys):
    assert dond(*names, "-h") == 0
    shown = examples(capsys.readouterr().out)
    command, _ = resolved(list(names))
    assert shown or isinstance(command, click.Group) or names[:2] == ("data", "transcripts")
    for words in shown:
        for path in re.findall(r"(?:experiments/)?configs/\w+\.yaml", " ".join(words)):
            assert (ROOT / path).is_file(), words
        if "_DOND_COMPLETE" in words[1]:
            continue
        words = [word for word in words if not word.startswith("GROQ_API_KEY=")]
        if words[0] == "python":
            assert (ROOT / words[1]).is_file()
            words = ["dond", Path(words[1]).stem, *words[2:]]
        assert words[0] == "dond"
        used, left = resolved(words[1:])
        below = [resolved([*names, name])[0] for name in _names(command)]
        assert used is command or names == () or used in below
        assert {word for word in left if word.startswith("--")} <= options(used), words


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_print_the_same_help(script, tmp_path):
    done = subprocess.run([sys.executable, script, "-h"], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.startswith(f"Usage: {script.name} [OPTIONS]") and "Examples:" in done.stdout


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["legaue"], "No such command 'legaue'. Did you mean 'league'? (see"),
        (["evaluate", "--membr", "linear"], "No such option '--membr'. Did you mean '--member'? (see"),
        (["league", "--workers", "two"], "--workers must be an integer in 1..4096; got two\n"),
        (["league", "--config", "nowhere.yaml"], "nowhere.yaml"),
    ],
)
def test_mistake_gives_one_line_and_exit_code_2(words, answer, capsys):
    assert dond(*words) == 2
    printed = capsys.readouterr()
    assert answer in printed.err and printed.err.count("\n") == 1 and not printed.out


def test_closed_pipe_is_no_error():
    pipe = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {shlex.join(PROGRAM)} catalogue --json | head -1"],
        capture_output=True, text=True, env=HERE,
    )  # fmt: skip
    assert (pipe.stdout, pipe.stderr) == ("[\n", "")


def test_shipped_config_is_found_from_any_folder(tmp_path):
    done = in_process("league", "--config", "configs/league_scripted.yaml", "--dry-run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_missing_library_is_named_with_its_extra():
    code = "import sys; sys.modules['starlette'] = None; from dond.cli.main import main; "
    code += "sys.exit(main(['web', '--no-browser', '--port', '0']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=HERE, timeout=120)
    assert done.returncode == 2 and "starlette" in done.stderr and "[ui]" in done.stderr


def test_shell_completion():
    for words, answer in (
        ("dond le", "league"),
        ("dond play --pa", "--partner"),
    ):
        asked = {"_DOND_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        code = "import sys; from dond.cli.main import main; sys.argv[0] = 'dond'; sys.exit(main())"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**HERE, **asked})
        assert answer in done.stdout, (words, done)


def test_help_loads_no_pytorch():
    names = ["league", "train", "evaluate", "play", "report", "web", "catalogue", "data", "llm-check"]
    code = (
        "import sys\nfrom dond.cli.main import main\n"
        f"for name in {names}:\n    assert main([name, '--help']) == 0\n"
        "    print(name, 'loaded' if 'torch' in sys.modules else 'light')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=HERE)
    assert [line for line in done.stdout.splitlines() if line in {f"{name} light" for name in names}] == [
        f"{name} light" for name in names
    ]


def test_benchmark_offers_every_suite():
    from scripts.bench.suites import COMPARISONS, SUITES
    from scripts.benchmark import SUITES as OFFERED

    assert set(OFFERED) == {*SUITES, *COMPARISONS}


def test_characters_that_the_terminal_lacks_are_replaced():
    done = subprocess.run(
        [*PROGRAM, "catalogue", "linear"], env={**HERE, "PYTHONIOENCODING": "ascii"}, capture_output=True, check=False
    )
    assert done.returncode == 0 and not done.stderr


def test_training_without_a_config_has_the_shipped_settings(capsys):
    assert dond("train", "--dry-run", "--set", "training.lr=0.1") == 0
    assert "ppo_config.yaml" in capsys.readouterr().out
    assert dond("train", "--resume", "--set", "training.lr=0.1") == 2


@pytest.mark.parametrize(
    "words",
    [
        "evaluate --member ~nosuch/x.json --against heuristic",
        "train --dry-run --set logging.output_dir=~nosuch/runs",
        "league --workers -1",
    ],
)
def test_unusable_value_is_named(words, capsys):
    assert dond(*words.split()) == 2
    (line,) = (line for line in capsys.readouterr().err.splitlines() if line)
    assert "~nosuch/" in line or "-1" in line
