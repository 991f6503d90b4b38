"""Figures: what is measured in games, its name and unit, and the tally of sums that every figure is computed from."""
