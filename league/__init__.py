"""Who meets whom, the rounds, and the ledger that remembers them."""
