"""The game and its occupants in other libraries: OpenSpiel, NegMAS, Stable-Baselines3, trainers of language models."""
