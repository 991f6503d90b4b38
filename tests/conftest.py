"""What several test files share: where the published data files are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of the published data files: ``DOND_DATA_DIR``, by default ``../shared/data`` beside the project."""
    folder = Path(os.environ.get("DOND_DATA_DIR") or ROOT / "../shared/data").resolve()
    if not (folder / "selfplay.txt").is_file():
        pytest.skip(f"no published data files in {folder}; name their folder in DOND_DATA_DIR")
    return folder
