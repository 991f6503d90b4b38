"""Which examples there are, and the Python that runs each: this one, or a virtual environment of the example's own.

Where a library pins another Gymnasium, NumPy or pandas than the project, it lives apart, in ``build/plug_in/NAME``; the
project is on its path, not installed in it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import NamedTuple

from dond_marl.errors import RunFailure

ROOT = Path(__file__).resolve().parents[2]
PLACES = ROOT / "build" / "plug_in"
GROUND = ("numpy==2.4.6", "pettingzoo==1.27.0", "scipy==1.17.1", "torch==2.13.0")  # what the project itself needs there
THREADS = {"OMP_NUM_THREADS": "1", "RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0"}


class PlaceError(RunFailure):
    """A virtual environment that cannot be made; the message quotes pip."""


class Example(NamedTuple):
    """One runnable file of ``scripts/examples``."""

    name: str
    what: str
    library: str  # the distribution whose version counts
    others: tuple[str, ...] = ()  # whose versions are named too
    apart: tuple[str, ...] = ()  # requirements of a place of its own; none: it runs where the project is installed
    learns: bool = True

    @property
    def path(self) -> Path:
        return ROOT / "scripts" / "examples" / f"{self.name}.py"


EXAMPLES = (
    Example("sb3_ppo", "PPO against the heuristic, SuperSuit's Gymnasium vector", "stable-baselines3", ("SuperSuit",)),
    Example("sb3_maskable_ppo", "masked PPO in self-play, SuperSuit's parallel vector", "sb3-contrib", ("SuperSuit",)),
    Example("cleanrl_style_ppo", "masked PPO in one file, Gymnasium's vector", "torch"),
    Example("sb3_vector_ppo", "masked PPO, `DealVectorEnv`", "sb3-contrib"),
    Example("vector_ppo", "masked PPO in one file, `DealVectorEnv`", "torch"),
    Example("tianshou_ppo", "masked PPO", "tianshou", apart=("tianshou==2.0.1", *GROUND)),
    Example("rllib_ppo", "masked PPO", "ray", apart=("ray[rllib]==2.60.0", *GROUND)),
    Example("openspiel_ppo", "OpenSpiel's PPO on this game as one of OpenSpiel's", "open-spiel", ("torch",)),
    Example("openspiel_bots", "any partner in OpenSpiel's `bargaining`", "open-spiel", learns=False),
    Example(
        "kaggle_agent",
        "any partner in Kaggle's game arena",
        "kaggle-environments",
        ("open-spiel",),
        ("kaggle-environments==1.33.2", *GROUND[:3]),
        learns=False,
    ),
)


def python_of(example: Example) -> Path:
    """The interpreter of its place, which is made first if need be. Raises :class:`PlaceError`."""
    if not example.apart:
        return Path(sys.executable)
    place, python = PLACES / example.name, PLACES / example.name / "bin" / "python"
    installed = place / "requirements.json"
    if not installed.is_file() or json.loads(installed.read_text(encoding="utf-8")) != list(example.apart):
        venv.create(place, with_pip=True, clear=True)
        done = subprocess.run(  # noqa: S603  # our own list of requirements
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *example.apart],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise PlaceError(f"{example.name}: pip cannot install {' '.join(example.apart)}:\n{done.stderr.strip()}")
        installed.write_text(json.dumps(example.apart), encoding="utf-8")
    return python


def environment() -> dict[str, str]:
    """What an example is run with: the project on the path, one thread."""
    return {**os.environ, **THREADS, "PYTHONPATH": str(ROOT)}
