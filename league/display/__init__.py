"""Output in the terminal: tables, the game with its dialogue, and the reading of typed lines."""
