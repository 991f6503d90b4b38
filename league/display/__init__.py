"""What a person sees in the terminal: tables, the game and its dialogue, and how a number is spelled."""
