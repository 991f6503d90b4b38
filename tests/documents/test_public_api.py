"""docs/API.md is the public API: what is on it is there, and what other pages and examples use is on it."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
from pathlib import Path

import pytest

import dond_marl
import hints
from scripts.docs_site.api_page import described, listed, sentence

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "API.md").read_text(encoding="utf-8")
OURS = ("dond_marl", "hints", "league", "partners")
OPTIONAL = {"dond_marl.envs.openspiel.game": "pyspiel"}  # a page's module, and what it needs that may be missing
NAMES = [(module, name) for module, name in listed(PAGE)]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = sorted((ROOT / "scripts" / "examples").rglob("*.py"))


def used(code: str) -> set[tuple[str, str]]:
    """What a piece of code imports of ours by name."""
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in OURS:
            found |= {(node.module, alias.name) for alias in node.names}
    return found


def test_the_page_says_what_the_code_says():
    page = PAGE
    for module, needed in OPTIONAL.items():
        if importlib.util.find_spec(needed) is None:
            page = re.sub(rf"## `{re.escape(module)}`.*?(?=\n## |\Z)", "", page, flags=re.DOTALL)
    assert described(page) == page, "run python scripts/api_page.py"


@pytest.mark.parametrize("package", [dond_marl, hints], ids=lambda package: package.__name__)
def test_what_a_package_calls_its_own_is_on_the_page(package):
    assert {(package.__name__, name) for name in package.__all__} <= set(NAMES)


@pytest.mark.parametrize("path", [*DOCUMENTS, *EXAMPLES], ids=lambda path: path.name)
def test_what_documents_and_examples_use_is_on_the_page(path):
    text = path.read_text(encoding="utf-8")
    blocks = [text] if path.suffix == ".py" else re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    missing = set().union(*map(used, blocks)) - set(NAMES) if blocks else set()
    assert not missing, f"{path.name} uses {missing}: put it on docs/API.md, or do without"


def test_no_name_is_listed_twice_and_none_is_private():
    assert len(NAMES) == len(set(NAMES)) > 80
    assert not [name for _, name in NAMES if name.startswith("_") and name != "__version__"]


def test_what_is_on_the_page_is_explained():
    for module, name in NAMES:
        if importlib.util.find_spec(OPTIONAL.get(module, "dond_marl")) is not None:
            assert len(sentence(module, name)) > 12, f"{module}.{name} has no docstring"


def test_a_name_that_is_gone_is_an_error():
    with pytest.raises(AttributeError, match="no attribute 'gone'"):
        described("## `dond_marl.game`\n\n| `gone` | was here |\n")
    with pytest.raises(ModuleNotFoundError):
        described("## `dond_marl.lost`\n\n| `x` | |\n")


def test_every_package_says_that_it_is_typed():
    for package in OURS:
        assert (Path(importlib.import_module(package).__file__).parent / "py.typed").is_file()
