"""Public names apart from where they are defined: names imported on first use, and modules that have moved.

The module names of the last release go on working for this one: importing an old name gives a module with the names of
the new one, and a :class:`DeprecationWarning` that says where they are now.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable, Mapping
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class _Moved(MetaPathFinder, Loader):
    """Finds the old names, and nothing else."""

    def __init__(self) -> None:
        self.homes: dict[str, str] = {}  # old name: new name

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name in self.homes else None

    def exec_module(self, module: ModuleType) -> None:
        old = module.__name__
        new = self.homes[old]
        warnings.warn(f"{old} has moved to {new}; the old name goes with the next release", DeprecationWarning, 2)
        names = vars(importlib.import_module(new))
        vars(module).update({name: value for name, value in names.items() if not name.startswith("__")})


_FINDER = _Moved()


def alias(homes: Mapping[str, str]) -> None:
    """Keep old module names importable: ``homes`` maps each to the module that holds its names now."""
    _FINDER.homes.update(homes)
    if _FINDER not in sys.meta_path:
        sys.meta_path.append(_FINDER)


def on_first_use(package: str, *modules: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package: a name of its ``__all__`` is looked for in ``modules``, in order, when used."""

    def attribute(name: str) -> Any:
        if name in sys.modules[package].__all__:
            for module in map(importlib.import_module, modules):
                if hasattr(module, name):
                    return getattr(module, name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return attribute
