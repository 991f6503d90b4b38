"""How well a language model bargains, measured by the truth: what its acts lose, and whether its beliefs are right."""
