"""Trust in run folders: the names in their settings and members, and the signature of the user who began the run."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from dond_marl.files import read_text
from dond_marl.records.files import write_atomically, write_durably
from dond_marl.trust import HAZARDOUS, Document, Hazard, admit, hazards_in, names_of, refuse, sign
from league.ledger.run_directory import SETTINGS
from league.settings.layers import YamlError, read_yaml
from league.settings.read import Settings, parse

SIGNATURE_FILE = f"{SETTINGS}.signature"  # next to the settings of a training
MOST_SIGNATURE = 1000  # bytes


def names_in(settings: str, specs: Sequence[str] = (), portable: str = "") -> tuple[str, frozenset[Hazard]]:
    """The document that is signed or trusted, and its hazards.

    ``settings``, and ``portable``, the same without paths: YAML; ``specs``: of the members.
    """
    hazards = hazards_in([_data(settings), _data(portable), list(specs)])
    # A relative path of a program means another program in another folder.
    programs = sorted(str(Path(each.target).absolute()) for each in hazards if each.effect == HAZARDOUS["python"])
    return json.dumps([settings, portable, list(specs), programs]), hazards


def _data(text: str) -> object:
    try:
        return read_yaml(text)[0] if text else None
    except YamlError:  # reported where the settings are read
        return None


def sign_names(settings: str, specs: Sequence[str] = (), portable: str = "") -> str | None:
    """The signature of a new run's names; ``None`` if they need none, or no key can be stored."""
    document, hazards = names_in(settings, specs, portable)
    return sign(document) if hazards else None


def write_settings(folder: Path, settings: str) -> None:
    """Write the settings of a new training or study into its folder, signed if their names need trust."""
    signature = sign_names(settings)
    if signature is not None:
        write_atomically(folder / SIGNATURE_FILE, signature)
    write_durably(folder / SETTINGS, settings.encode())


def read_settings(folder: Path, model: type[Settings], check: Callable[..., Document] = admit) -> Settings:
    """The stored settings of a training or study, a ``model``; what their names may reach is refused unless trusted.

    ``check``: :func:`~dond_marl.trust.require_trust` where everything that they name is needed. Raises ``OSError`` and
    :class:`league.settings.read.ConfigError`.
    """
    settings = read_text(folder / SETTINGS)
    try:
        signature = read_text(folder / SIGNATURE_FILE, MOST_SIGNATURE)
    except (OSError, ValueError):
        signature = None
    return parse_stored(settings, str(folder / SETTINGS), model, check(str(folder), *names_in(settings), signature))


def parse_stored(text: str, label: str, model: type[Settings], document: Document) -> Settings:
    """The settings, a ``model``, in the YAML text of a ``document``; ``label``: for messages.

    What looks harmless in the text and is a hazard once it is parsed is refused as well.
    """
    with names_of(document):
        settings = parse(text, label, model)
    if not document.trusted:
        refuse(document, hazards_in(settings.model_dump(mode="json")))
    return settings
