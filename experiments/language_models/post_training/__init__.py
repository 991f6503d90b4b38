"""Post-training: a language model learns from kept games, then from the exact worth of every line it could write."""
