"""Experiments with language models: trained on the game, told what to aim at, and measured against the truth."""
