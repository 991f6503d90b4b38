"""What an equilibrium is worth: its points by seat in games of every length, beside people and players."""
