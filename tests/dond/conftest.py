"""Fixtures of tests that read a finished league."""

from tests.finished_league import few_replicates, finished_league

__all__ = ["few_replicates", "finished_league"]
