"""Results as sections of tables: of a league, a training, a clone of people and a pair; and plain lines of progress."""
