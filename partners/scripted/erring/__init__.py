"""Partners that err: who reasons only so far, and whose hand trembles."""
