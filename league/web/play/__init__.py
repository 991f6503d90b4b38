"""The page on which a person plays: the form of a game, the game in a thread, its page, and what follows its end."""
