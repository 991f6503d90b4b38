"""Trainings, leagues and evaluations from Python or a notebook: one call each, and a result that prints as tables."""
