"""Evaluation of members: games in both seats over scenarios, against partners and exact best responses."""
