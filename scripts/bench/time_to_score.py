"""Score of ``configs/ppo_fast.yaml`` over time: greedy play on the held-out scenarios after so many seconds.

Time counts playing and learning, not scoring.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from league.evaluation.evaluate import BEST
from league.settings.read import load_config
from league.settings.training import TrainConfig
from league.training.training import begin, final_score, final_shares

CONFIG = Path(__file__).resolve().parents[2] / "configs" / "ppo_fast.yaml"
MARKS = (10, 30, 60, 180)  # seconds


class ScoreMark(NamedTuple):
    """Score of the training after so many seconds."""

    seconds: int
    decisions: int  # own
    points: float  # of ten, both seats
    margin: float  # half the 95 % interval over scenarios
    deals: float
    of_response: float  # share of what the exact best response earns in the same games
    of_response_margin: float


def score_marks(until: int = MARKS[-1]) -> list[ScoreMark]:
    """Train from scratch against the default heuristic and measure the score at each mark."""
    training, scored = begin(load_config(CONFIG, (), TrainConfig)), []
    for seconds in (mark for mark in MARKS if mark <= until):
        while training.seconds < seconds and not training.is_complete:
            training.step()
        result = final_score(training, greedy=True)
        share = final_shares(training, greedy=True)[BEST]
        figures = result.points.mean, result.points.margin, result.deals, share.mean, share.margin
        scored.append(ScoreMark(seconds, training.learner.decisions, *figures))
    return scored
