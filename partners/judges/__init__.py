"""Who judges the style of a game: rules, language models, and a reward model trained on their verdicts."""
