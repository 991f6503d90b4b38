"""Where language models are kept that were made or unpacked on this machine."""

from __future__ import annotations

import os
from pathlib import Path

CACHE = "DOND_MARL_CACHE"  # the environment variable that names another cache folder


def cache_folder() -> Path:
    """The folder of all: ``$DOND_MARL_CACHE``, or in the user's cache folder (XDG base directory specification)."""
    own = os.environ.get(CACHE)
    if own:
        return Path(own).expanduser()
    shared = Path(os.environ.get("XDG_CACHE_HOME", ""))  # to be ignored where it is relative, says the specification
    return (shared if shared.is_absolute() else Path.home() / ".cache") / "dond-marl"
