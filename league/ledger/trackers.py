"""Where the figures of a run go while it is made, beside its own files: TensorBoard, trackio, wandb and MLflow.

Each is a :class:`Tracker`, and a name in ``logging.trackers``. By default nothing leaves the machine: trackio keeps its
own database, wandb runs offline and MLflow writes into the run's folder. The libraries' own variables say otherwise:
``TRACKIO_SPACE_ID=NAME``, ``WANDB_MODE=online``, ``MLFLOW_TRACKING_URI=URL``. A run that is resumed is not gone on with
there: what comes after is one more run, of the same name, whose steps go on.

A run does not end with its tracker: one whose library fails is told of once, and gets no more.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from dond_marl.errors import Notice, missing_library, shorten

PROJECT = "dond-marl"
Figures = Mapping[str, float]


class Tracker(Protocol):
    """Keeps the figures of a run, step by step."""

    def write(self, figures: Figures, step: int) -> None:
        """Keep the figures of one step; none is ``nan``."""

    def close(self) -> None:
        """Nothing more comes: all is kept once the process is over."""


class TensorBoard:
    """Events for TensorBoard in the run's folder; steps from ``first`` on replace those that a resumed run lost."""

    def __init__(self, folder: Path, first: int) -> None:
        from torch.utils.tensorboard import SummaryWriter  # slow to import

        self._events: Any = SummaryWriter(str(folder), purge_step=first)

    def write(self, figures: Figures, step: int) -> None:
        for name, value in figures.items():
            self._events.add_scalar(name, value, step)

    def close(self) -> None:
        self._events.close()


class Trackio:
    """A run of trackio's project ``dond-marl``, in its local database (``trackio show`` opens it)."""

    def __init__(self, folder: Path, _first: int) -> None:
        import trackio

        space = os.environ.get("TRACKIO_SPACE_ID")
        self._run: Any = trackio.init(project=PROJECT, name=_name(folder), space_id=space, embed=False)

    def write(self, figures: Figures, step: int) -> None:
        self._run.log(dict(figures), step)

    def close(self) -> None:
        self._run.finish()


class Wandb:
    """A run of wandb's project ``dond-marl``, offline in the run's folder (``wandb sync`` uploads it)."""

    def __init__(self, folder: Path, _first: int) -> None:
        import wandb

        mode: Any = os.environ.get("WANDB_MODE", "offline")
        quiet = wandb.Settings(silent=True, console="off", disable_git=True)
        self._run = wandb.init(project=PROJECT, name=_name(folder), dir=str(folder), mode=mode, settings=quiet)

    def write(self, figures: Figures, step: int) -> None:
        self._run.log(dict(figures), step=step)

    def close(self) -> None:
        self._run.finish()


class MLflow:
    """A run of MLflow's experiment ``dond-marl``, in ``mlflow.db`` of the run's folder."""

    def __init__(self, folder: Path, _first: int) -> None:
        from mlflow import MlflowClient

        place = os.environ.get("MLFLOW_TRACKING_URI", f"sqlite:///{folder.resolve() / 'mlflow.db'}")
        self._client: Any = MlflowClient(place)
        known = self._client.get_experiment_by_name(PROJECT)
        experiment = self._client.create_experiment(PROJECT) if known is None else known.experiment_id
        self._run: str = self._client.create_run(experiment, run_name=_name(folder)).info.run_id

    def write(self, figures: Figures, step: int) -> None:
        for name, value in figures.items():
            self._client.log_metric(self._run, name, value, step=step)

    def close(self) -> None:
        self._client.set_terminated(self._run)


TRACKERS: Mapping[str, Callable[[Path, int], Tracker]] = {
    "mlflow": MLflow,
    "tensorboard": TensorBoard,
    "trackio": Trackio,
    "wandb": Wandb,
}


class Trackers:
    """Several trackers as one; whichever fails is left out from then on, with a :class:`dond_marl.errors.Notice`."""

    def __init__(self, names: Iterable[str], folder: Path, first: int) -> None:
        """Open the trackers of ``names`` for the run in ``folder``, whose next step is ``first``.

        Raises :class:`dond_marl.errors.MissingLibrary`, which names the extra.
        """
        self._open: dict[str, Tracker] = {}
        for name in names:
            try:
                self._open[name] = TRACKERS[name](folder, first)
            except ModuleNotFoundError as error:
                self.close()
                raise missing_library(error, f"the tracker {name}") or error from error
            except Exception as error:  # noqa: BLE001  # somebody else's library, which raises what it likes
                _gone(name, error)

    def write(self, figures: Figures, step: int) -> None:
        self._each(lambda tracker: tracker.write(figures, step))

    def close(self) -> None:
        self._each(lambda tracker: tracker.close())
        self._open.clear()

    def _each(self, do: Callable[[Tracker], None]) -> None:
        for name, tracker in list(self._open.items()):
            try:
                do(tracker)
            except Exception as error:  # noqa: BLE001  # the same
                del self._open[name]
                _gone(name, error)


def _gone(name: str, error: Exception) -> None:
    """Say that a tracker has failed, in its own words."""
    told = shorten(" ".join(str(error).split())) or type(error).__name__
    warnings.warn(
        f"the tracker {name} failed and gets no more figures: {told}. The run goes on, and its own files have them "
        f"all; to do without {name}, leave it out of logging.trackers",
        Notice,
        stacklevel=4,
    )


def _name(folder: Path) -> str:
    """What a run is called: ``league_quick/0001``."""
    return "/".join(folder.resolve().parts[-2:])
