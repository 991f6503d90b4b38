"""Judges of the style of a game, as rewards: definitions and language models."""
