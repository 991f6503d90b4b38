"""Output in the terminal (tables, the game with its dialogue, the reading of typed lines), and charts of pages."""
