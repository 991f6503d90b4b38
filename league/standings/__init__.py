"""Folds over the ledger: cross-play, ladder, ratings, meta-game and curves."""
