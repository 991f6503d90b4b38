"""Recorded games: reading them, stepping through one, and a person's scores."""
