"""The page of settings is what the models say, every key with a meaning; the glossary has each word once."""

from __future__ import annotations

import re

from league.settings.read import Config
from league.settings.training import TrainConfig
from scripts.docs_site.meanings import MEANINGS
from scripts.docs_site.settings_page import COMMANDS, PAGE, _sections, page
from tests.documents.pages import ROOT


def test_the_page_is_what_the_models_say():
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m scripts.docs_site.settings_page"


def test_every_key_is_on_the_page_and_every_meaning_is_of_a_key():
    text, keys = page(), set()
    for _, model in COMMANDS:
        for _, section in _sections(model):
            keys |= {f"{section.__name__}.{name}" for name in section.model_fields} | set(section.model_fields)
    for name in [
        *TrainConfig.model_fields,
        *Config.model_fields,
        "lr",
        "cadence_k",
        "block_size",
        "at_least",
        "timeout",
    ]:
        assert f"| `{name}` |" in text, name
    assert set(MEANINGS) <= keys, set(MEANINGS) - keys


def test_the_glossary_has_each_word_once():
    words = re.findall(r"^\| ([a-z][\w ,]*?) \|", (ROOT / "docs" / "GLOSSARY.md").read_text(), re.MULTILINE)
    words = [word for word in words if word != "word"]
    assert len(words) == len(set(words)) > 30
