"""A number with its noun, as a sentence has it."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """``1 round``, ``3 rounds``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def points(number: int) -> str:
    """``1 point``, ``7 points``."""
    return counted(number, "point")
