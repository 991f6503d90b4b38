"""What papers report of this game, and the same measured here: their players at the level of acts."""
