"""Post-training of a language model: cloning of well-paid games, then a policy gradient over exact line values."""
