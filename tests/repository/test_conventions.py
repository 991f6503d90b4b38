"""The lock file, the constraints and the notes for contributors agree with the project."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def pins(name: str) -> dict[str, str]:
    return {canonicalize_name(found[1]): found[2] for found in re.finditer(r"(?m)^([\w.-]+)==([\w.]+)", text(name))}


def test_lock_agrees_with_constraints_and_covers_every_requirement():
    locked, constraints = pins("requirements.lock"), pins("constraints.txt")
    assert {name: version for name, version in locked.items() if constraints.get(name, version) != version} == {}
    requirements, extras = list(PROJECT["dependencies"]), PROJECT["optional-dependencies"]
    for each in extras["all"]:
        own = re.search(r"^dond-marl\[(\w+)\]", each)
        requirements += extras[own[1]] if own else [each]
    names = {canonicalize_name(Requirement(each).name) for each in requirements} - {PROJECT["name"]}
    assert names <= locked.keys()
    assert "://" not in text("requirements.lock") and text("requirements.lock").count("--hash=sha256:") > len(locked)


@pytest.mark.parametrize(
    "name", ["AGENTS.md", "CONTRIBUTING.md", "llms.txt", "CODE_OF_CONDUCT.md", "docs/ARCHITECTURE.md"]
)
def test_files_and_make_targets_named_in_notes_exist(name):
    page = ROOT / name
    for target in re.findall(r"\]\(([^):#]+)\)", text(name)):
        assert (page.parent / target).is_file(), target
    assert set(re.findall(r"`make ([a-z-]+)", text(name))) <= set(re.findall(r"^([a-z-]+):", text("Makefile"), re.M))
    named = re.findall(r"`((?:dond_marl|hints|partners|league|scripts|configs|tests|docs)/[\w/.]*)`", text(name))
    assert [path for path in named if not (ROOT / path).exists()] == []
