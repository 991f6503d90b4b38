"""What every command shares: its help, its options, what it prints, and which exit code a failure ends it with.

The exit code is 0, 1 (the run could not go on: :class:`~dond_marl.errors.RunFailure`, ``OSError``), 2 (what the caller
gave is wrong: :class:`~dond_marl.errors.InputError`, click's usage errors), or 130 and 143 (stopped by Ctrl-C and by
SIGTERM, :mod:`league.cli.stops`). A failure is one sentence on standard error, never a traceback; a traceback is a bug.
"""

from __future__ import annotations

import ast
import errno
import inspect
import os
import shlex
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from dond_marl.errors import EXTRAS, InputError, Notice, RunFailure, missing_library, shorten
from league.cli.stops import STOPS
from league.settings.layers import preset

RUN_ERROR, USAGE_ERROR = 1, 2
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
WIDE = 160  # columns; used where there is no terminal to ask
# The extra that brings all that a command needs, where that is another than `league`.
BROUGHT_BY = {"llm-check": "llm", "train": "learn", "web": "ui"}
OF_COMMANDS = ("learn", "league")  # of libraries that many commands need: the command's extra is named in their place

FILE = click.Path(path_type=Path)


class Command(click.Command):
    """A command whose help is a docstring: paragraphs, then ``examples:`` and indented lines, which are not rewrapped.

    ``interrupted`` says what a stop leaves behind. ``run_errors`` are input errors that are the run's fault in this
    command, exit code 1: a damaged checkpoint of the run that is resumed, say.
    """

    def __init__(
        self, *args: Any, interrupted: str = "", run_errors: tuple[type[Exception], ...] = (), **options: Any
    ) -> None:
        options.setdefault("context_settings", {"help_option_names": ["-h", "--help"]})
        super().__init__(*args, **options)
        self.interrupted, self.run_errors = interrupted, run_errors

    def invoke(self, ctx: click.Context) -> Any:
        STOPS.word = f"stopped{self.interrupted and ': '}{self.interrupted}"
        try:
            return super().invoke(ctx)
        except self.run_errors as error:
            raise RunFailure(str(error)) from error
        except ModuleNotFoundError as error:
            raise _missing(error, _words(ctx)) from error

    def format_help_text(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(_parts(self.help)[0])

    def format_epilog(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if examples := _parts(self.help)[1]:
            formatter.write(f"\nExamples:\n{examples}\n")


class Group(Command, click.Group):
    """A command with subcommands; ``files`` maps further ones to the modules that hold each as ``command``.

    Such a module is imported when its command is asked for; until then its docstring alone is read.
    """

    def __init__(self, *args: Any, files: Mapping[str, str] | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self.files = files or {}

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return [*self.files, *self.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.files:
            try:
                with STOPS.starting():
                    command: click.Command = import_module(self.files[cmd_name]).command
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
        held = {name: command.help for name, command in self.commands.items()}
        texts = {name: _docstring(module) for name, module in self.files.items()} | held
        with formatter.section("Commands"):
            formatter.write_dl([(name, _parts(text)[0].split("\n\n")[0]) for name, text in texts.items()])


class Number(click.ParamType[int | float]):
    """A number of which ``fits`` is true; ``words`` say which that are, such as "an integer in 1..100"."""

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


def whole(low: int, high: int) -> Number:
    """An integer in ``low``..``high``."""
    return Number(int, range(low, high + 1).__contains__, f"an integer in {low}..{high}")


class Renamed(click.Option):
    """An option that is heard under older names too, those after its first, which its help leaves out."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        heard, self.opts = self.opts, self.opts[:1]
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = heard


class WritableFile(click.Path):
    """A file that can be written or replaced, in a folder that exists; ``-`` where the command allows it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(value).expanduser()
        other = path.exists() and not path.is_file()  # a folder, or a device, which a file must not replace
        if not (self.allow_dash and str(value) == "-") and (other or not os.access(path.parent, os.W_OK)):
            self.fail(f"{value}: no file can be written there; name one in a folder that exists", param, ctx)
        return path


class ConfigFile(click.Path):
    """A file of settings: that of the path, otherwise the shipped one of its name."""

    def convert(self, value: Any, _param: click.Parameter | None, _ctx: click.Context | None) -> Path:
        return preset(Path(value))


MAX_TURNS = whole(1, 100)  # as dond_marl.game.Rules has it
SEED = Number(int, range(2**63).__contains__, "an integer in 0..2**63 - 1")


SOURCES_SAID = (
    "where items and values come from: lewis (worth 10 to each seat), uniform (any values), self_play and dialogues "
    "(published games of programs and of people)"
)
SPLITS_SAID = (
    "part of it; lewis: train, test (kept apart), paper_test (the paper's own 392), all; uniform: near (5 to 7 items), "
    "beyond (fewer or more); dialogues: train, val, test"
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
resume_option = click.option(
    "--resume",
    type=FILE,
    is_flag=False,
    flag_value="",
    metavar="[RUN]",
    help="continue a run, or the newest one",
)


quiet_option = click.option("--quiet", is_flag=True, help="show no progress, only problems and the outcome")


def console_for_people() -> Console:
    """Standard output, wide enough for the tables where it is no terminal."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=WIDE)


def say(line: str, style: str = "") -> None:
    """Print a line, markup as it stands and without line breaks of our own."""
    console_for_people().print(Text(line, style=style), soft_wrap=True)


def as_called(context: click.Context) -> str:
    """How this command was started, to be copied: a script, ``python -m league`` or the installed command."""
    program, *words = context.command_path.split(" ")
    if program.endswith(".py"):
        return f"{_near(sys.executable)} {quoted(sys.argv[0])}"
    return " ".join([_near(sys.executable if program == "python" else sys.argv[0]), *words])


def say_next(context: click.Context, *words: object) -> None:
    """Print the next command to type: another of ``dond``'s, started as this one was."""
    program, *more = (context.find_root().info_name or "dond").split(" ")
    if program.endswith(".py"):
        start = [_near(sys.executable), "-m", "league"]
    else:
        start = [_near(sys.executable if program == "python" else sys.argv[0]), *more]
    say(f"next: {' '.join([*start, *(quoted(str(word)) for word in words)])}")


def quoted(word: str) -> str:
    """A word as a shell takes it whole; in double quotes where they say it, for specs have single ones inside."""
    plain = shlex.quote(word)
    return plain if plain == word or any(letter in word for letter in '"$`\\!') else f'"{word}"'


def run(command: click.Command, words: Sequence[str] | None = None, name: str | None = None) -> int:
    """Do what the words ask for, those of the shell if none are given; the exit code."""
    with STOPS.heeded(), _notices_as_lines(), _threads_without_room():
        try:
            code = command.main(words, name, standalone_mode=False)
            sys.stdout.flush()
            if not STOPS.asked:
                return int(code or 0)
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  # a bug is raised again
            stopped = isinstance(error, KeyboardInterrupt) or isinstance(error.__cause__, KeyboardInterrupt)
            if not STOPS.asked and not stopped:
                return _failure(error)
        word = STOPS.say()
        return _failed(word, STOPS.code) if word else STOPS.code  # whatever has come out: it comes of the stop


@contextmanager
def _threads_without_room() -> Iterator[None]:
    """A thread that finds the disk full (TensorBoard's writer) ends without a word: who waits for it hears of it."""
    before = threading.excepthook

    def failed(failure: threading.ExceptHookArgs) -> None:
        if not isinstance(failure.exc_value, OSError) or failure.exc_value.errno not in FULL:
            before(failure)

    threading.excepthook = failed
    try:
        yield
    finally:
        threading.excepthook = before


def _failure(error: BaseException) -> int:
    """Say what is wrong; the exit code. A bug is raised again."""
    if isinstance(error, click.UsageError):
        if isinstance(error, click.BadParameter) and error.param and error.message:
            return _failed(f"{error.param.opts[0]} {error.message}", USAGE_ERROR)
        is_help = isinstance(error, click.exceptions.NoArgsIsHelpError)
        where = f" (see {error.ctx.command_path} --help)" if error.ctx and not is_help else ""
        return _failed(f"{error.format_message()}{where}", USAGE_ERROR)
    if isinstance(error, InputError):
        return _failed(str(error), USAGE_ERROR)
    if isinstance(error, BrokenPipeError):  # whoever read what is printed has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return RUN_ERROR
    if isinstance(error, OSError) and error.strerror is not None:
        where = f"{error.filename}: " if error.filename is not None else ""
        room = "; make room on the disk, then do it again" if error.errno in FULL else ""
        return _failed(f"{where}{error.strerror}{room}", RUN_ERROR)
    if isinstance(error, RunFailure | OSError):
        return _failed(str(error), RUN_ERROR)
    if isinstance(error, click.Abort) and error.__cause__:
        raise error.__cause__ from None  # click takes Ctrl-D at a prompt for a stop; here it is a bug
    raise error


@contextmanager
def _notices_as_lines() -> Iterator[None]:
    """A :class:`Notice` is one line; other warnings say where they come from."""
    before = warnings.formatwarning

    def one_line(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> str:
        return f"{message}\n" if issubclass(category, Notice) else before(message, category, *where, **more)

    warnings.formatwarning = one_line
    try:
        yield
    finally:
        warnings.formatwarning = before


def _words(ctx: click.Context) -> list[str]:
    """What a command is called: ``["dond", "experiment", "hints"]``; a script by its file."""
    here = "dond" if isinstance(ctx.find_root().command, Group) else ctx.find_root().info_name
    return [str(here)] if ctx.parent is None else [*_words(ctx.parent), str(ctx.info_name)]


def _missing(error: ModuleNotFoundError, words: Sequence[str]) -> Exception:
    """What to say where the command of ``words`` lacks a library; or the error itself, a bug."""
    library = (error.name or "").split(".")[0]
    extra = BROUGHT_BY.get(words[-1].removesuffix(".py"), "league") if EXTRAS.get(library) in OF_COMMANDS else None
    return missing_library(error, f"`{' '.join(words)}`", extra) or error


def _near(program: str) -> str:
    """A path as short as it can be from here, as a shell takes it whole."""
    path = Path(program)
    return quoted(str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path))


def _failed(message: str, code: int) -> int:
    click.echo("".join(c if c.isprintable() or c == "\n" else "?" for c in shorten(message)), err=True)
    return code


def _docstring(module: str) -> str | None:
    """A module's docstring, read without importing it."""
    spec = find_spec(module)
    assert spec is not None and spec.origin is not None
    return ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8")))


def _parts(text: str | None) -> tuple[str, str]:
    """The paragraphs of a help text, and its examples."""
    prose, _, examples = inspect.cleandoc(text or "").partition("\n\nexamples:\n")
    return prose, examples
