"""The project's own language model: made once on this machine, kept in a cache folder, and read from there afterwards.

Its folder is named by a digest of all that it was made from. The first process that needs it makes it beside its place
and moves it there when it is whole; the others wait.
"""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path

from partners.llm.client import SetupError
from partners.llm.local.files import CACHE, cache_folder
from partners.llm.prompt import HISTORY_CAP, Template
from partners.llm.student.recipe import CARD, Recipe

MINUTES = "about two minutes of one core"

_log = logging.getLogger("dond_marl.local_model")


def own_model_folder(recipe: Recipe, template: Template) -> Path:
    """The folder of the model of ``recipe`` for prompts of ``template``, which is made if it is not there.

    Making it is logged first, with how long it takes. Raises :class:`SetupError` where it cannot be kept.
    """
    folder = cache_folder() / "models" / recipe.digest(template)
    if is_complete(folder):
        return folder
    from filelock import FileLock, Timeout  # of an extra: who seats nobody of this kind does without

    lock = FileLock(folder.with_suffix(".lock"))
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            held = lock.acquire(timeout=0)
        except Timeout:
            _log.warning("another process is making the local language model; waiting for it (%s)", MINUTES)
            held = lock.acquire()
        with held:
            if not is_complete(folder):
                _make(recipe, template, folder)
    except OSError as error:
        raise SetupError(
            f"the local language model cannot be kept in {folder.parent} ({error.strerror or error}): "
            f"name another folder in ${CACHE}"
        ) from None
    return folder


def is_complete(folder: Path) -> bool:
    """Whether a model lies in ``folder``; the card is moved there with it."""
    return (folder / CARD).is_file()


def trained_history_cap(folder: str | Path) -> int:
    """How many acts of the history a model was made for: of one not distilled here, the prompt's usual number."""
    try:
        card = json.loads((Path(folder).expanduser() / CARD).read_text(encoding="utf-8"))
        return int(card["history_cap"])
    except (OSError, ValueError, KeyError, TypeError):
        return HISTORY_CAP


def _make(recipe: Recipe, template: Template, folder: Path) -> None:
    from partners.llm.student.distill import distill

    message = "making the local language model, which imitates %s: this takes %s, once; it will be kept in %s"
    _log.warning(message, recipe.teacher, MINUTES, folder)  # before anything is done, as it takes a while
    beside = folder.with_suffix(".new")
    shutil.rmtree(beside, ignore_errors=True)  # left by a process that was stopped
    try:
        card = distill(recipe, template, beside, lambda line: _log.warning("local language model: %s", line))
        shutil.rmtree(folder, ignore_errors=True)  # without a card: not ours to trust
        beside.replace(folder)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    _log.warning("the local language model is made: %.0f s", card["seconds"])
