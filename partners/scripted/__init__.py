"""Partners that follow a rule written by hand; they need nothing but NumPy."""
