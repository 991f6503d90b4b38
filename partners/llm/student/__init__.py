"""A small language model of our own, distilled from a partner, that needs no download."""
