"""Recorded games: reading them, stepping through one, its picture, and a person's scores."""
