"""Trust in run folders: the names in their settings and members, and the signature of the user who began the run."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from dond_marl.files import read_text
from dond_marl.records.files import write_atomically
from dond_marl.trust import HAZARDOUS, Hazard, admit, hazards_in, sign
from league.ledger.run_directory import SETTINGS
from league.settings.layers import YamlError, read_yaml

SIGNATURE_FILE = f"{SETTINGS}.signature"  # next to the settings of a training
MOST_SIGNATURE = 1000  # bytes


def names_in(settings: str, specs: Sequence[str] = ()) -> tuple[str, frozenset[Hazard]]:
    """The document that is signed or trusted, and its hazards. ``settings``: YAML; ``specs``: of the members."""
    try:
        data, _ = read_yaml(settings)
    except YamlError:  # reported by whoever reads the settings
        data = None
    hazards = hazards_in([data, list(specs)])
    # A relative path of a program means another program in another folder.
    programs = sorted(str(Path(each.target).absolute()) for each in hazards if each.effect == HAZARDOUS["python"])
    return json.dumps([settings, list(specs), programs]), hazards


def sign_names(settings: str, specs: Sequence[str] = ()) -> str | None:
    """The signature of a new run's names; ``None`` if they need none, or no key can be stored."""
    document, hazards = names_in(settings, specs)
    return sign(document) if hazards else None


def write_settings(folder: Path, settings: str) -> None:
    """Write the settings of a new training or study into its folder, signed if their names need trust."""
    signature = sign_names(settings)
    if signature is not None:
        write_atomically(folder / SIGNATURE_FILE, signature)
    write_atomically(folder / SETTINGS, settings)


def read_settings(folder: Path, check: Callable[..., object] = admit) -> str:
    """The stored settings of a training or study, with what their names may reach refused unless it is trusted.

    ``check``: :func:`~dond_marl.trust.require_trust` where everything that they name is needed. Raises ``OSError``.
    """
    settings = read_text(folder / SETTINGS)
    try:
        signature = read_text(folder / SIGNATURE_FILE, MOST_SIGNATURE)
    except (OSError, ValueError):
        signature = None
    check(str(folder), *names_in(settings), signature)
    return settings
