"""What happened, kept in one SQLite file: rows, seals, and the folder of a run around them."""
