"""The solver of the equilibrium tables: the game tree, mirror descent, gains of deviations, and the shipped files."""
