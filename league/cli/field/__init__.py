"""The commands that set ours beside what others measured or made on this game."""
