"""The game for OpenSpiel: as one of its games, its bots in a seat, its published instances."""
