"""Bargaining in English words: a small model of people's talk, what it is read as, and what it gets."""
