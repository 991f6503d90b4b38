"""Judges of the style of a game: rules, language models, and a reward model trained on labelled episodes."""
