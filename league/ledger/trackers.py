"""Experiment trackers for the figures of a run: TensorBoard and wandb.

Each is a :class:`Tracker`. By default nothing leaves the machine: wandb runs offline, unless its own variable
``WANDB_MODE=online`` is set. A resumed run is a new run of the same name there, with continued steps. A tracker whose
library fails is reported once and dropped; the run continues.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from dond_marl.errors import Notice, missing_library, shorten
from league.ledger.verify import flat_settings

PROJECT = "dond-marl"
Figures = Mapping[str, float]
Settings = Mapping[str, Any]


class Tracker(Protocol):
    """Receives the figures of a run, step by step."""

    def write(self, figures: Figures, step: int) -> None:
        """Store the figures of one step; none is ``nan``."""

    def close(self) -> None:
        """End of the figures: all are stored once the process ends."""


class TensorBoard:
    """TensorBoard events in the run's folder; steps from ``first`` on replace those of before a resume."""

    def __init__(self, folder: Path, first: int, settings: Settings) -> None:
        from tensorboardX import SummaryWriter  # writes events alone: TensorBoard itself brings a server, 50 MB

        self._events: Any = SummaryWriter(str(folder), purge_step=first)
        lines = (f"    {name}: {value}" for name, value in flat_settings(settings))
        self._events.add_text("settings", "\n".join(lines), first)

    def write(self, figures: Figures, step: int) -> None:
        for name, value in figures.items():
            self._events.add_scalar(name, value, step)

    def close(self) -> None:
        self._events.close()


class Wandb:
    """A run of wandb's project ``dond-marl``, offline in the run's folder (``wandb sync`` uploads it)."""

    def __init__(self, folder: Path, _first: int, settings: Settings) -> None:
        import wandb

        mode: Any = os.environ.get("WANDB_MODE", "offline")
        quiet = wandb.Settings(silent=True, console="off", disable_git=True)
        self._run: Any = wandb.init(
            project=PROJECT, name=run_name(folder), config=dict(settings), dir=str(folder), mode=mode, settings=quiet
        )

    def write(self, figures: Figures, step: int) -> None:
        self._run.log(dict(figures), step=step)

    def close(self) -> None:
        self._run.finish()


TRACKERS: dict[str, Callable[[Path, int, Settings], Tracker]] = {"tensorboard": TensorBoard, "wandb": Wandb}


class Trackers:
    """Several trackers as one; a failing one is dropped with a :class:`dond_marl.errors.Notice`."""

    def __init__(self, names: Iterable[str], folder: Path, first: int, settings: Settings) -> None:
        """Open the trackers of ``names`` for the run in ``folder``, whose next step is ``first``.

        ``settings``: of the run, by section, which the trackers store as its parameters.
        Raises :class:`dond_marl.errors.MissingLibrary`, which names the extra.
        """
        self._open: dict[str, Tracker] = {}
        for name in names:
            try:
                self._open[name] = TRACKERS[name](folder, first, settings)
            except ModuleNotFoundError as error:
                self.close()
                raise missing_library(error, f"the tracker {name}") or error from error
            except Exception as error:  # noqa: BLE001  # foreign code
                _warn_of_failure(name, error)

    def write(self, figures: Figures, step: int) -> None:
        self._each(lambda tracker: tracker.write(figures, step))

    def close(self) -> None:
        self._each(lambda tracker: tracker.close())
        self._open.clear()

    def _each(self, do: Callable[[Tracker], None]) -> None:
        for name, tracker in list(self._open.items()):
            try:
                do(tracker)
            except Exception as error:  # noqa: BLE001  # foreign code
                del self._open[name]
                _warn_of_failure(name, error)


def _warn_of_failure(name: str, error: Exception) -> None:
    message = shorten(" ".join(str(error).split())) or type(error).__name__
    warnings.warn(
        f"the tracker {name} failed and gets no more figures: {message}. The run continues, and its own files have all "
        f"figures; to run without {name}, remove it from logging.trackers",
        Notice,
        stacklevel=4,
    )


def run_name(folder: Path) -> str:
    """The name of a run: ``league_quick/0001``, or ``here/runs/0001`` where the folder is called ``runs``."""
    parts = folder.resolve().parts
    return "/".join(parts[-3 if parts[-2] == "runs" else -2 :])
