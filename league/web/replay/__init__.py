"""The pages of recorded games: one that steps through them, and one that says how a person has done."""
