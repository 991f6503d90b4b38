"""The tree of exceptions. The class of an error decides the exit code of every command.

::

    DondError
    ├── InputError   invalid input (exit code 2): a setting (ConfigError, ScenarioError, RewardError,
    │                OccupantNameError), an action (InvalidAction), an input file (RecordError, DataError,
    │                CheckpointError), an optional library that is not installed (MissingLibrary),
    │                a name of another origin that would use more than is allowed (UntrustedError)
    └── RunFailure   a failure at run time (exit code 1): of a component (OccupantError, PartnerError, HinterError,
                     JudgeError, RewardFailure, BackendError, FetchError), of a run folder that is damaged or in use
                     (RunError, LedgerError, BlobError), or a call out of order (OrderError)

The one exception is :class:`dond_marl.game.IllegalAct`, a ``ValueError``, because the rules import the standard library
only. A message says what was given, what is allowed and what to do.
"""

from __future__ import annotations

import difflib
import os
import re
import reprlib
import shlex
import signal
import sys
import traceback
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path

SHOWN = 80  # characters of a value that a message quotes
LONG_WORD, LONG_LINE = 1000, 4000  # characters; longer words and lines of a message are cut
EXTRAS = {  # import name of a library: the package extra that installs it (larger extras may too)
    library: extra
    for extra, libraries in {
        "learn": "filelock pydantic pydantic_core safetensors scipy tensorboardX torch yaml",
        "league": "jinja2 markupsafe",
        "llm": "groq httpx huggingface_hub tokenizers transformers",
        "ui": "starlette uvicorn",
        "plot": "PIL matplotlib",
        "frames": "pandas pyarrow",
        "gguf": "accelerate gguf",
        "ray": "ray",
        "negmas": "negmas",
        "wandb": "wandb",
        "mcp": "mcp",
    }.items()
    for library in libraries.split()
}

OF_SETUP = ("frames", "league", "learn", "llm", "plot", "ui")  # extras that the extra `all` brings


class DondError(Exception):
    """Base class of the errors that this project raises on purpose; the message is written for the user."""


class InputError(DondError, ValueError):
    """Invalid input from the caller."""


class MissingLibrary(InputError):
    """An optional library is not installed; the message names the extra that installs it."""


class UntrustedError(InputError):
    """A name of another origin than the user would use code, files, services or keys that were not allowed.

    ``origin``: the file, or a visitor of a page; ``uses``: each such name with its needs; ``advice``: how to allow it.
    """

    def __init__(self, origin: str, uses: tuple[str, ...], advice: str) -> None:
        self.origin, self.uses = origin, uses
        listed = "; ".join(printable_text(use) for use in uses[:5]) + (" ..." if len(uses) > 5 else "")
        super().__init__(f"{origin} names {listed}. Nothing of this was used; {advice}")


def missing_library(error: ModuleNotFoundError, user: str, extra: str | None = None) -> MissingLibrary | None:
    """The error to raise for a failed import of a library that one of our extras installs, ``None`` for other imports.

    ``user``: what needs the library, such as a command or an occupant. ``extra``: the extra to name instead of the
    library's own in :data:`EXTRAS`.
    """
    library = (error.name or "").split(".")[0]
    if library not in EXTRAS:
        return None
    return MissingLibrary(f"{user} needs {library}, which is not installed: {_install(extra or EXTRAS[library])}")


def require_library(library: str, user: str) -> None:
    """Raise :class:`MissingLibrary` if a library of :data:`EXTRAS` is not installed; nothing is imported."""
    if find_spec(library) is None:
        error = ModuleNotFoundError(name=library)
        raise missing_library(error, user) or error


def _install(extra: str) -> str:
    """The command that installs an extra: into this Python from a checkout, otherwise as the user installs packages."""
    checkout = Path(__file__).resolve().parents[1]
    if not (checkout / "pyproject.toml").is_file():
        return f"pip install 'dond-marl[{extra}]'"
    python, folder = sys.executable, str(checkout)
    if Path.cwd() == checkout:
        python, folder = python.removeprefix(f"{folder}{os.sep}"), "."
    command = f"{shlex.quote(python)} -m pip install -e {shlex.quote(f'{folder}[{extra}]')}"
    return f"{command}, or `make setup`" if extra in OF_SETUP else command


class NotComputable(InputError, ValueError):
    """A value, bound or belief that cannot be computed for this partner, source or rules; the message says why."""


class RunFailure(DondError, RuntimeError):
    """A failure at run time that is no mistake in the caller's input."""


class Blame:
    """A context for code of users, which may raise anything: ``failure(error)`` is raised in place of its errors.

    A stop (:func:`is_stop`), ``MemoryError`` and errors of the classes ``passing`` are raised as they are. It is no
    generator: through one, ``contextlib`` would raise a ``StopIteration`` again in place of its failure.
    """

    def __init__(self, failure: Callable[[BaseException], BaseException], *passing: type[BaseException]) -> None:
        self._failure, self._passing = failure, passing

    def __enter__(self) -> None:
        return

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if error is not None and not is_stop(error) and not isinstance(error, (MemoryError, *self._passing)):
            raise self._failure(error) from error


def is_stop(error: BaseException | None) -> bool:
    """Whether a ``KeyboardInterrupt`` is the user's: its traceback leads through the handler of the signal.

    Python's own handler leaves no trace: under it every ``KeyboardInterrupt`` counts as the user's.
    """
    handler = signal.getsignal(signal.SIGINT)
    if not isinstance(error, KeyboardInterrupt) or handler is signal.SIG_IGN:
        return False
    code = getattr(handler, "__code__", None)
    return code is None or any(frame.f_code is code for frame, _ in traceback.walk_tb(error.__traceback__))


class _Brief(reprlib.Repr):
    """A ``repr`` of bounded length: the first entries of a container, the first characters of a text."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxother, self.maxlong = 3, 2 * SHOWN, SHOWN
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = self.maxfrozenset = self.maxarray = 16

    def repr_str(self, x: str, level: int) -> str:  # noqa: ARG002  # what reprlib asks
        return repr(x) if len(x) <= SHOWN else f"{x[:SHOWN]!r}… ({len(x):,} characters)"

    def repr_int(self, x: int, level: int) -> str:
        return f"a whole number of {x.bit_length():,} bits" if x.bit_length() > 256 else super().repr_int(x, level)


_BRIEF = _Brief()


def quote(value: object) -> str:
    """``value`` on one printable line for an error message; long values are cut, with the length of a long text."""
    text = " ".join(_BRIEF.repr(value).split())
    if not text.isprintable():
        text = ascii(text)[1:-1]
    most = 2 * SHOWN if isinstance(value, str | bytes) else SHOWN
    return text if len(text) <= most else f"{text[: most - 1]}…"


def suggest(value: object, choices: Iterable[str]) -> str:
    """The choice that is spelled most like a text, as a question; empty without any."""
    text = value if isinstance(value, str) and len(value) < 100 else ""
    matches = difflib.get_close_matches(text, list(choices), n=1)
    return f" (did you mean {matches[0]!r}?)" if matches else ""


def printable_text(text: str) -> str:
    """``text`` with control and direction characters as escapes, so that none moves a terminal's cursor; lines stay."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character in "\n\t" else ascii(character)[1:-1] for character in text
    )


def error_line(error: BaseException, length: int = 300) -> str:
    """The class and the message of any error, on one printable line of at most ``length`` characters."""
    try:
        message = str(error)[: 4 * length]  # cut first: it may have millions of characters
    except Exception:  # noqa: BLE001  # __str__ may be foreign code
        message = "(its message cannot be read)"
    text = f"{type(error).__name__}: {message}"
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:length]


class Notice(RuntimeWarning):
    """A warning for the user while the work goes on; it is printed without file and line."""


def shorten(message: str) -> str:
    """``message`` with its overlong words and lines cut; it may come from the system or a library."""
    words = re.sub(rf"\S{{{LONG_WORD},}}", lambda word: _cut(word[0]), message)
    return "\n".join(_cut(line) if len(line) > LONG_LINE else line for line in words.split("\n"))


def _cut(text: str) -> str:
    return f"{text[:SHOWN]}… ({len(text):,} characters)"
