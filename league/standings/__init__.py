"""Standings computed from the ledger: cross-play, ladder, ratings, meta-game and curves."""
