"""Experiments that use the league and that no other room knows."""
