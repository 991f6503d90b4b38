"""Who meets whom, the rounds, and the ledger that remembers them."""

from typing import TYPE_CHECKING

from dond_marl.public_names import on_first_use

if TYPE_CHECKING:
    from league.display.python.calls import evaluate_pair, open_league, play_league, train

__all__ = ["evaluate_pair", "open_league", "play_league", "train"]
__getattr__ = on_first_use(__name__, "league.display.python.calls")
