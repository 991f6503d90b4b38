"""Thousands of games on one device in PyTorch: the engine, observations, partners and privileged targets."""
