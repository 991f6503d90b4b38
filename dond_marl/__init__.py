"""Deal or No Deal over dialogue acts: the game, and playing it."""
