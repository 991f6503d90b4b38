"""The tree of exceptions: whose mistake something is decides the exit code of every command.

::

    DondError
    ├── InputError   what the caller gave is wrong (exit code 2): a setting (ConfigError, ScenarioError, RewardError,
    │                OccupantNameError), an action (InvalidAction), a file that was named (RecordError, DataError,
    │                CheckpointError), a library that what was asked for needs (MissingLibrary)
    └── RunFailure   the run could not go on (exit code 1): somebody or something that was asked failed (OccupantError,
                     PartnerError, HinterError, JudgeError, BackendError, FetchError), a folder of a run is damaged or
                     in use (RunError, LedgerError, BlobError), a call came too early or too late (OrderError)

Every error of this project is one of the two, but for :class:`dond_marl.game.IllegalAct`, a ``ValueError``, because the
rules need nothing but the standard library. A message says what was given, what is allowed and what to do.
"""

from __future__ import annotations

import re
import reprlib

SHOWN = 80  # characters of a value that a message quotes
LONG_WORD, LONG_LINE = 1000, 4000  # characters; what is longer in a message repeats a mistake whole
EXTRAS = {  # which extra of the package brings a library, by the name that is imported; a wider one may bring it too
    "PIL": "plot",
    "accelerate": "gguf",
    "anyio": "llm",
    "filelock": "learn",
    "gguf": "gguf",
    "groq": "llm",
    "httpx": "llm",
    "huggingface_hub": "llm",
    "jinja2": "league",
    "markupsafe": "league",
    "matplotlib": "plot",
    "mlflow": "mlflow",
    "negmas": "negmas",
    "pandas": "frames",
    "peft": "lora",
    "pyarrow": "frames",
    "pydantic": "learn",
    "pydantic_core": "learn",
    "ray": "ray",
    "safetensors": "learn",
    "scipy": "learn",
    "starlette": "ui",
    "tensorboard": "learn",
    "tokenizers": "llm",
    "torch": "learn",
    "trackio": "trackio",
    "transformers": "llm",
    "wandb": "wandb",
    "uvicorn": "ui",
    "yaml": "learn",
}


class DondError(Exception):
    """Anything that this project raises on purpose; the message is written for the user."""


class InputError(DondError, ValueError):
    """What the caller gave is wrong."""


class MissingLibrary(InputError):
    """What was asked for needs a library that is not installed; the message names the extra that brings it."""


def missing_library(error: ModuleNotFoundError, who: str, extra: str | None = None) -> MissingLibrary | None:
    """What to say of a failed import, where one of our extras brings the library; ``None`` where none does.

    ``who`` needs it: a command, an occupant. ``extra``: the one to name instead of the library's own in :data:`EXTRAS`.
    """
    library = (error.name or "").split(".")[0]
    if library not in EXTRAS:
        return None
    bring = f"pip install 'dond-marl[{extra or EXTRAS[library]}]'"
    return MissingLibrary(f"{who} needs {library}, which is not installed: {bring}, or `make setup` in a checkout")


class NotComputable(InputError, ValueError):
    """A value, bound or belief that cannot be computed for this partner, source or rules; the message says why."""


class RunFailure(DondError, RuntimeError):
    """The run could not go on, through no mistake in what the caller gave."""


class _Brief(reprlib.Repr):
    """Looks at the first entries of a container and the first characters of a text alone, whatever was given."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxother, self.maxlong = 3, 2 * SHOWN, SHOWN
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = self.maxfrozenset = self.maxarray = 16

    def repr_str(self, x: str, level: int) -> str:  # noqa: ARG002  # what reprlib asks
        return repr(x) if len(x) <= SHOWN else f"{x[:SHOWN]!r}… ({len(x):,} characters)"

    def repr_bytes(self, x: bytes, level: int) -> str:  # noqa: ARG002  # what reprlib asks
        return repr(x) if len(x) <= SHOWN else f"{x[:SHOWN]!r}… ({len(x):,} bytes)"

    def repr_int(self, x: int, level: int) -> str:
        return f"a whole number of {x.bit_length():,} bits" if x.bit_length() > 256 else super().repr_int(x, level)


_BRIEF = _Brief()


def quote(value: object) -> str:
    """``value`` as a message quotes it: one printable line, the beginning of what is long, and a text's length."""
    text = " ".join(_BRIEF.repr(value).split())
    if not text.isprintable():
        text = ascii(text)[1:-1]
    most = 2 * SHOWN if isinstance(value, str | bytes) else SHOWN
    return text if len(text) <= most else f"{text[: most - 1]}…"


def error_line(error: BaseException, length: int = 300) -> str:
    """The kind and the message of somebody else's error, printable on one line whatever it holds."""
    try:
        message = str(error)[: 4 * length]  # before it is gone through letter by letter: it may have millions
    except Exception:  # noqa: BLE001  # even its text is somebody else's code
        message = "(its message cannot be read)"
    text = f"{type(error).__name__}: {message}"
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:length]


class Notice(RuntimeWarning):
    """Something that the user should know, while the work goes on; the message says all, so that no place is shown."""


def shorten(message: str) -> str:
    """``message`` with words and lines that are far too long cut short, whoever wrote it: the system, a library."""
    words = re.sub(rf"\S{{{LONG_WORD},}}", lambda word: _cut(word[0]), message)
    return "\n".join(_cut(line) if len(line) > LONG_LINE else line for line in words.split("\n"))


def _cut(text: str) -> str:
    return f"{text[:SHOWN]}… ({len(text):,} characters)"
