"""Policies that can occupy a seat, and how they learn."""
