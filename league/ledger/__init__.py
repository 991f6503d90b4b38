"""Storage of a run: the ledger (one SQLite file with seals), its checks and replays, and the run folder."""

from typing import TYPE_CHECKING

from dond_marl.public_names import on_first_use

if TYPE_CHECKING:
    from league.ledger.ledger import Ledger, LedgerError

__all__ = ["Ledger", "LedgerError"]
__getattr__ = on_first_use(__name__, "league.ledger.ledger")
