"""Lazy imports for packages: a public name is imported from its module when it is first used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any


def on_first_use(package: str, *modules: str) -> Callable[[str], Any]:
    """A package's ``__getattr__``: looks up each name of its ``__all__`` in ``modules``, in order, on first use."""

    def attribute(name: str) -> Any:
        if name in sys.modules[package].__all__:
            for module in map(importlib.import_module, modules):
                if hasattr(module, name):
                    return getattr(module, name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return attribute
