"""Partners with hand-written rules; they need only NumPy."""
