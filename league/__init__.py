"""Who meets whom, the rounds, and the ledger that remembers them."""

from dond_marl.public_names import alias

alias(
    {
        "league.config": "league.settings.read",
        "league.evaluate": "league.evaluation.evaluate",
        "league.heldout_score": "league.evaluation.heldout_score",
        "league.play_screen": "league.display.game",  # named in settings: {kind: human, interface: ...}
    }
)
