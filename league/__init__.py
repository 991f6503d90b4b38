"""Training and evaluation of populations: rounds of matches and practice, a ledger, ladders and reports."""

from typing import TYPE_CHECKING

from dond_marl.public_names import on_first_use

if TYPE_CHECKING:
    from league.api import benchmark, evaluate_league, evaluate_pair, open_league, play_league, train
    from league.evaluation.heldout_score import heldout_score

__all__ = ["benchmark", "evaluate_league", "evaluate_pair", "heldout_score", "open_league", "play_league", "train"]
__getattr__ = on_first_use(__name__, "league.api", "league.evaluation.heldout_score")
