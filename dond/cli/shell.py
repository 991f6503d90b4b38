"""Common parts of all commands: help, options, printing, and the exit codes of failures.

The exit code is 0, 1 (the run failed: :class:`~dond_marl.errors.RunFailure`, ``OSError``), 2 (wrong input:
:class:`~dond_marl.errors.InputError`, click's usage errors), or 130 and 143 (stopped by Ctrl-C and by SIGTERM,
:mod:`dond.cli.stops`). A failure is one sentence on standard error, never a traceback; a traceback is a bug.
"""

from __future__ import annotations

import ast
import errno
import inspect
import os
import re
import shlex
import shutil
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from importlib import import_module
from importlib.util import find_spec
from io import TextIOWrapper
from pathlib import Path
from typing import Any, get_args

import click
from rich.console import Console
from rich.text import Text

from dond.cli.stops import STOPS
from dond_marl.errors import (
    EXTRAS,
    InputError,
    Notice,
    RunFailure,
    UntrustedError,
    is_stop,
    missing_library,
    printable_text,
    quote,
    shorten,
)
from dond_marl.files import user_path
from dond_marl.game import Disagree
from dond_marl.scenarios.sources import SOURCE_NAMES, SOURCES, is_source_name

RUN_ERROR, USAGE_ERROR = 1, 2
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
WIDE = 160  # columns, for output that is no terminal
# The extra with the libraries of a command, if that is another one than `league`.
EXTRA_OF = {"llm-check": "llm", "train": "learn", "web": "ui"}
# Extras of libraries that many commands need: messages name the command's extra instead.
OF_COMMANDS = ("learn", "league")


class UserFile(click.Path):
    """A path, as :func:`dond_marl.files.user_path`."""

    def convert(self, value: Any, _param: click.Parameter | None, _ctx: click.Context | None) -> Path:
        return user_path(value)


FILE = UserFile()
trust_option = click.option(
    "--trust", is_flag=True, help="use the code, files, services and keys that names in an opened run need"
)


class Command(click.Command):
    """A command whose help is a docstring: paragraphs, then ``examples:`` and indented lines, which are not rewrapped.

    ``interrupted``: the state that a stop leaves, for its message. ``run_errors``: input errors that count as failures
    of the run in this command (exit code 1), such as a damaged checkpoint of a resumed run.
    """

    def __init__(
        self, *args: Any, interrupted: str = "", run_errors: tuple[type[Exception], ...] = (), **options: Any
    ) -> None:
        options.setdefault("context_settings", {"help_option_names": ["-h", "--help"]})
        super().__init__(*args, **options)
        self.interrupted, self.run_errors = interrupted, run_errors

    def invoke(self, ctx: click.Context) -> Any:
        if not getattr(self, "files", None):  # a group of files imports a command next
            STOPS.begin(f"stopped{self.interrupted and ': '}{self.interrupted}")
        try:
            return super().invoke(ctx)
        except self.run_errors as error:
            raise RunFailure(str(error)) from error
        except ModuleNotFoundError as error:
            raise _missing(error, _words(ctx)) from error

    def format_help_text(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(_split_help(self.help)[0])

    def format_epilog(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if examples := _split_help(self.help)[1]:
            formatter.write(f"\nExamples:\n{examples}\n")


class Group(Command, click.Group):
    """A command with subcommands; ``files`` maps further ones to modules that define each as ``command``.

    ``module:name`` names another attribute. A module is imported when its command is run; help reads its source only.
    """

    def __init__(self, *args: Any, files: Mapping[str, str] | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self.files = files or {}

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return [*self.files, *self.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.files:
            module, _, attribute = self.files[cmd_name].partition(":")
            try:
                command: click.Command = getattr(import_module(module), attribute or "command")
            except ModuleNotFoundError as error:
                if ctx.resilient_parsing:  # a shell completes the name alone
                    return click.Command(cmd_name)
                raise _missing(error, [*_words(ctx), cmd_name]) from error
            return command
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            raise click.NoSuchCommand(error.command_name, possibilities=self.list_commands(ctx), ctx=ctx) from None

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        texts = {name: _docstring(module) for name, module in self.files.items()}
        texts |= {name: command.help for name, command in self.commands.items()}
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, re.split(r"[:;.]", re.sub(r" \([^)]*\)", "", _split_help(text)[0]))[0])
                    for name, text in texts.items()
                ]
            )


class Number(click.ParamType[int | float]):
    """A number for which ``fits`` is true; ``words`` describe the range, such as "an integer in 1..100"."""

    def __init__(self, kind: type[int] | type[float], fits: Callable[[Any], bool], words: str) -> None:
        self.name = kind.__name__
        self.kind, self.fits, self.words = kind, fits, words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | float:
        try:
            number = self.kind(value)
        except ValueError:
            number = None
        if number is None or not self.fits(number):
            self.fail(f"must be {self.words}; got {value}", param, ctx)
        return number


def integer(low: int, high: int) -> Number:
    """An integer in ``low``..``high``."""
    return Number(int, range(low, high + 1).__contains__, f"an integer in {low}..{high}")


class SourceName(click.Choice[str]):
    """The name of a scenario source, or the path of a file of scenarios."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not is_source_name(value):
            self.fail(f"must be {SOURCE_NAMES}; got {value}", param, ctx)
        return str(value)


class WritableFile(click.Path):
    """A file that can be written or replaced, in a folder that exists; ``-`` where the command allows it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = user_path(value)
        other = path.exists() and not path.is_file()  # a folder, or a device, which a file must not replace
        if not (self.allow_dash and str(value) == "-") and (other or not os.access(path.parent, os.W_OK)):
            self.fail(f"{value}: no file can be written there; name one in a folder that exists", param, ctx)
        return path


class ConfigFile(click.Path):
    """A file of settings: that of the path, otherwise the shipped one of its name."""

    def convert(self, value: Any, _param: click.Parameter | None, _ctx: click.Context | None) -> Path:
        from league.settings.layers import preset  # not loaded for the help

        return preset(user_path(value))


def with_options(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A decorator that gives a command ``options``, in the order of its help."""
    return lambda command: reduce(lambda decorated, option: option(decorated), reversed(options), command)


MAX_TURNS = integer(1, 100)  # as dond_marl.game.Rules has it
SEED = Number(int, range(2**63).__contains__, "an integer in 0..2**63 - 1")


def game_options(split: str, of_run: str = "") -> Callable[[Any], Any]:
    """The options of the games: where scenarios come from, and the rules; their defaults are ``None``.

    ``split``: the default split in words; ``of_run``: words on the defaults with --run.
    """
    return with_options(
        click.option(
            "--scenarios",
            type=SourceName(SOURCES),
            help="source of items and values: lewis (pools worth 10 to each seat), uniform (any values), self_play and "
            "dialogues (published games of programs and of people), or a file of your own (.csv, .jsonl, .parquet, "
            f".txt) (lewis{of_run})",
        ),
        click.option(
            "--split",
            metavar="NAME",
            help="part of the source; lewis: train, test (held out), paper_test (the paper's), all; uniform: near (5 "
            f"to 7 items), beyond (fewer or more); dialogues: train, val, test ({split})",
        ),
        click.option("--data-dir", type=FILE, metavar="FOLDER", help="folder of the published files (data)"),
        click.option("--max-turns", type=MAX_TURNS, metavar="N", help=f"most acts of both seats together (10{of_run})"),
        click.option(
            "--disagree",
            type=click.Choice(get_args(Disagree)),
            help=f"whether DISAGREE ends or only rejects (ends{of_run})",
        ),
    )


def config_option(example: str, **options: Any) -> Callable[[Any], Any]:
    """``--config``, a YAML file such as ``configs/EXAMPLE``."""
    text = options.pop("help", f"a YAML file, such as configs/{example}")
    return click.option("--config", "config_path", type=ConfigFile(), metavar="FILE", help=text, **options)


set_option = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="set one key, as league.rounds=5; may be repeated",
)


class OutputConsole(Console):
    """A console that leaves a closed pipe, as behind ``| head``, to :func:`run`, which ends without a message."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def output_console() -> Console:
    """Standard output, wide enough for the tables if it is no terminal."""
    console = OutputConsole(highlight=False)
    return console if console.is_terminal else OutputConsole(highlight=False, width=WIDE)


def print_line(line: str, style: str = "") -> None:
    """Print a line without interpreting markup and without breaking it; control characters are shown, not obeyed."""
    output_console().print(Text(printable_text(line), style=style), soft_wrap=True)


def dond(*words: object) -> str:
    """A command line of ``dond`` to be copied, with the program where the user's shell finds it."""
    program = shutil.which("dond", path=Path(sys.executable).parent)
    start = f"{_near(sys.executable)} -m dond_marl" if program is None else _near(program)
    return " ".join([start, *(quote_for_shell(str(word)) for word in words)])


def print_next(*words: object) -> None:
    """Print a suggested next command of ``dond``."""
    print_line(f"next: {dond(*words)}")


def quote_for_shell(word: str) -> str:
    """A word quoted for a shell; in double quotes if possible, as specs have single quotes inside."""
    plain = shlex.quote(word)
    return plain if plain == word or any(letter in word for letter in '"$`\\!') else f'"{word}"'


def run(command: click.Command, words: Sequence[str] | None = None, name: str | None = None) -> int:
    """Run a command with these words, or the shell's; returns the exit code."""
    for stream, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, stream) is None:  # closed: a file that is opened later must not get its descriptor
            setattr(sys, stream, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  # open to the end
    for text in (sys.stdin, sys.stdout):
        if isinstance(text, TextIOWrapper):  # the encoding of a terminal may lack a character
            text.reconfigure(errors="replace")
    with STOPS.handle(), _notices_as_lines(), _threads_without_room():
        try:
            code = _invoke(command, words, name)
            sys.stdout.flush()
            if not STOPS.is_requested:
                return int(code or 0)
        except BaseException as error:  # noqa: BLE001  # a bug is raised again
            if not STOPS.is_requested and not is_stop(error) and not is_stop(error.__cause__):
                return _failure(error)
        return _print_error(STOPS.text, STOPS.code)  # any other error is an effect of the stop


def _invoke(command: click.Command, words: Sequence[str] | None, name: str | None) -> Any:
    """Run a command; once more with ``--trust`` if the user answers so about a run that it opened."""
    try:
        return command.main(words, name, standalone_mode=False)
    except Exception as error:
        if not _ask_to_trust(error):
            raise
    return command.main([*(sys.argv[1:] if words is None else words), "--trust"], name, standalone_mode=False)


def _ask_to_trust(error: BaseException | None) -> bool:
    """Ask on the terminal whether to trust the file of an error; ``False`` without a terminal, or for other errors."""
    while error is not None and not isinstance(error, UntrustedError):
        error = error.__cause__
    if error is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    click.echo(f"{quote(error.origin)} names", err=True)
    for use in error.uses:
        click.echo(f"  {printable_text(use)}", err=True)
    return click.confirm("Do you trust its author?", err=True)


@contextmanager
def _threads_without_room() -> Iterator[None]:
    """A thread that finds the disk full (TensorBoard's writer) ends silently: the waiting thread raises the error."""
    before = threading.excepthook

    def ignore_full_disk(failure: threading.ExceptHookArgs) -> None:
        if not isinstance(failure.exc_value, OSError) or failure.exc_value.errno not in FULL:
            before(failure)

    threading.excepthook = ignore_full_disk
    try:
        yield
    finally:
        threading.excepthook = before


def _failure(error: BaseException) -> int:
    """Print the error message; returns the exit code. A bug is raised again."""
    if isinstance(error, click.UsageError):
        if isinstance(error, click.BadParameter) and error.param and error.message:
            return _print_error(f"{error.param.opts[0]} {error.message}", USAGE_ERROR)
        is_help = isinstance(error, click.exceptions.NoArgsIsHelpError)
        where = f" (see {error.ctx.command_path} --help)" if error.ctx and not is_help else ""
        return _print_error(f"{' '.join(error.format_message().split())}{where}", USAGE_ERROR)
    if isinstance(error, InputError):
        return _print_error(str(error), USAGE_ERROR)
    if isinstance(error, BrokenPipeError):  # the reader of the output is gone, as with `head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return RUN_ERROR
    if isinstance(error, OSError) and error.strerror is not None:
        where = f"{error.filename}: " if error.filename is not None else ""
        advice = "; make room on the disk, then try again" if error.errno in FULL else ""
        return _print_error(f"{where}{error.strerror}{advice}", RUN_ERROR)
    if isinstance(error, MemoryError):
        return _print_error(f"out of memory{': ' * bool(str(error))}{error}", RUN_ERROR)
    if isinstance(error, SystemExit | KeyboardInterrupt):  # raised by code of users: no command ends itself so
        file, line, *_ = traceback.extract_tb(error.__traceback__)[-1]
        return _print_error(f"stopped by {type(error).__name__} in {file}, line {line}", RUN_ERROR)
    if isinstance(error, RunFailure | OSError):
        return _print_error(str(error), RUN_ERROR)
    if isinstance(error, click.Abort) and error.__cause__:
        raise error.__cause__ from None  # click takes Ctrl-D at a prompt for a stop; here it is a bug
    raise error


@contextmanager
def _notices_as_lines() -> Iterator[None]:
    """Print a :class:`Notice` as one line; other warnings with their origin, but not those that a stop causes."""
    before = warnings.formatwarning

    def one_line(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> str:
        if STOPS.is_requested and issubclass(category, RuntimeWarning):
            return ""  # a coroutine of a client that the stop interrupted was never awaited
        return f"{message}\n" if issubclass(category, Notice) else before(message, category, *where, **more)

    warnings.formatwarning = one_line
    try:
        yield
    finally:
        warnings.formatwarning = before


def _words(ctx: click.Context) -> list[str]:
    """The name of a command: ``["dond", "experiment", "hints"]``; of a script, its file."""
    program = "dond" if isinstance(ctx.find_root().command, Group) else ctx.find_root().info_name
    return [str(program)] if ctx.parent is None else [*_words(ctx.parent), str(ctx.info_name)]


def _missing(error: ModuleNotFoundError, words: Sequence[str]) -> Exception:
    """The error for a library that the command ``words`` lacks; or ``error`` itself, a bug."""
    library = (error.name or "").split(".")[0]
    extra = EXTRA_OF.get(words[-1].removesuffix(".py"), "league") if EXTRAS.get(library) in OF_COMMANDS else None
    return missing_library(error, f"`{' '.join(words)}`", extra) or error


def _near(program: str) -> str:
    """A program as a shell starts it: by its name if it is on the path, otherwise by its path from here, quoted."""
    path = Path(program)
    if shutil.which(path.name) == program:
        return path.name
    return quote_for_shell(str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path))


def _print_error(message: str, code: int) -> int:
    click.echo(printable_text(shorten(message)), err=True)
    return code


def _docstring(address: str) -> str | None:
    """The docstring of a module, or of its function after a colon; read without importing it."""
    module, _, function = address.partition(":")
    spec = find_spec(module)
    assert spec is not None and spec.origin is not None
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    nodes = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function)
    return ast.get_docstring(next(nodes, tree))


def _split_help(text: str | None) -> tuple[str, str]:
    """The paragraphs of a help text, and its examples."""
    prose, _, examples = inspect.cleandoc(text or "").partition("\n\nexamples:\n")
    return prose, examples
