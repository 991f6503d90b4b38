"""Figures: what is measured in games, the tally of sums, and the table of rows that files and pages are views of."""
