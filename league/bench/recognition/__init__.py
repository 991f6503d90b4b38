"""What a member makes of whom it faces: who it is, what it wants, and how soon it plays the best reply."""
