"""docs/API.md, docs/LEDGER.md, docs/SETTINGS.md: generated from the code; pages and examples use public names."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

import dond_marl
import hints
from dond_marl.errors import RunFailure
from scripts.docs_site.pages import DOCS, GENERATED, _load_packages, api_page, description, ledger_page, public_names
from tests.documents.pages import PAGES, ROOT, blocks

PACKAGES = ("dond", "dond_marl", "hints", "league", "partners")
NAMES = [(module, name) for _, module, name in public_names((DOCS / "API.md").read_text(encoding="utf-8"))]
EXAMPLES = sorted((ROOT / "scripts" / "examples").rglob("*.py"))


@pytest.mark.parametrize("name", GENERATED)
def test_page_is_up_to_date(name):
    file, generate = GENERATED[name]
    page = (DOCS / file).read_text(encoding="utf-8")
    assert generate(page) == page, "run python -m scripts.docs_site.pages"


@pytest.mark.parametrize("package", [dond_marl, hints], ids=lambda package: package.__name__)
def test_every_exported_name_is_listed(package):
    assert {(package.__name__, name) for name in package.__all__} <= set(NAMES)


def test_every_listed_name_is_documented_and_importable():
    assert len(NAMES) == len(set(NAMES)) > 80
    modules = _load_packages()
    for module, name in NAMES:
        assert len(description(modules, module, name)) > 9, f"{module}.{name} has no docstring"
        if not any(library in module for library in ("openspiel", "sb3")):  # not installed everywhere
            value = importlib.import_module(module)
            for part in name.split("."):
                value = getattr(value, part)


def imported_names(code: str) -> set[tuple[str, str]]:
    return {
        (node.module, alias.name)
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in PACKAGES
        for alias in node.names
    }


@pytest.mark.parametrize("path", [*PAGES, *EXAMPLES], ids=lambda path: path.name)
def test_pages_and_examples_use_public_names_only(path):
    codes = [path.read_text(encoding="utf-8")] if path.suffix == ".py" else blocks(path, "python")
    missing = set().union(*map(imported_names, codes)) - set(NAMES) if codes else set()
    assert not missing, f"{path.name} uses {missing}: list it in docs/API.md, or use something else"


def test_listed_name_that_does_not_exist_is_an_error():
    with pytest.raises(RunFailure, match=r"dond_marl\.game\.gone"):
        api_page("## `dond_marl.game`\n\n| `gone` | was here |\n")


def test_ledger_page_without_its_marks_is_an_error():
    with pytest.raises(RunFailure, match="made by"):
        ledger_page("# Nothing")


def test_packages_ship_type_information():
    for package in PACKAGES:
        assert (Path(importlib.import_module(package).__file__).parent / "py.typed").is_file()
