"""Thousands of games on one device, in PyTorch: the engine, what seats see there, who plays, and what is learned."""
