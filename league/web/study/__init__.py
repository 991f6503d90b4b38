"""A study with people: who plays whom, what happened, what is given away of it, and what it says."""
