"""Judges of the style of a game, as rewards: simple rules and language models."""
