"""Small figures for small leagues: the bootstrap of the findings takes longer than the games of a test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from league.standings import findings


@pytest.fixture(scope="session", autouse=True)
def few_replicates() -> Iterator[None]:
    """Findings in this process are resampled ten times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(findings, "REPLICATES", 10)
        yield
