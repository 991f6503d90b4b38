"""The commands that hand a run on: as tables, and as folders for a hub of models and data sets."""
