"""Experiments behind the results pages: they may import every package, and no package imports them."""
