"""Environments: PettingZoo AEC, Gymnasium, vectors of games, with spaces, views and features."""
