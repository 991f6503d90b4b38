"""What a person types at the table, read as an act: short commands, and sentences in English."""
