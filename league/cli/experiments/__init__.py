"""The experiments' commands."""
