"""What several test files share: where the published data files are, and a cache that is not the user's."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Nothing is kept in the user's own cache. The folder outlives the run, as the project's local model takes two minutes
# to make; it is set before any library is imported, and inherited by every process of a test.
CACHE = Path(tempfile.gettempdir()) / f"dond-marl-tests-{os.getuid()}"
os.environ["XDG_CACHE_HOME"] = str(CACHE)
os.environ["DOND_MARL_CACHE"] = str(CACHE / "dond-marl")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of the published data files: ``DOND_DATA_DIR``, by default ``../shared/data`` beside the project."""
    folder = Path(os.environ.get("DOND_DATA_DIR") or ROOT / "../shared/data").resolve()
    if not (folder / "selfplay.txt").is_file():
        pytest.skip(f"no published data files in {folder}; name their folder in DOND_DATA_DIR")
    return folder
