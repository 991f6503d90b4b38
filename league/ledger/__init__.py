"""What happened, kept in one SQLite file: rows, seals, and the folder of a run around them."""

from dond_marl.public_names import on_first_use

__getattr__ = on_first_use(
    __name__,
    {
        "Ledger": "league.ledger.ledger",
        "LedgerError": "league.ledger.ledger",
    },
)
