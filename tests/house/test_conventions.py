"""What a stranger expects beside the code is there and says what is so: CI, citation, lock, container, notes."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def pins(name: str) -> dict[str, str]:
    return {canonicalize_name(found[1]): found[2] for found in re.finditer(r"(?m)^([\w.-]+)==([\w.]+)", text(name))}


def test_the_workflows_run_make_check_under_every_python_that_the_package_names():
    jobs = yaml.safe_load(text(".github/workflows/check.yml"))["jobs"]
    matrix = jobs["check"]["strategy"]["matrix"]
    named = {line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)}
    assert {*matrix["python"], *(each["python"] for each in matrix["include"])} == named
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.MULTILINE))
    for workflow in (ROOT / ".github" / "workflows").glob("*.yml"):
        steps = [
            step.get("run", "")
            for job in yaml.safe_load(workflow.read_text())["jobs"].values()
            for step in job["steps"]
        ]
        used = {word for step in steps for word in re.findall(r"\bmake ([a-z-]+)", step)}
        assert used and used <= targets, workflow
    assert any("make check" in step.get("run", "") for step in jobs["check"]["steps"])


def test_the_citation_is_that_of_this_version_in_both_forms():
    cited = yaml.safe_load(text("CITATION.cff"))
    assert (cited["version"], cited["license"]) == (PROJECT["version"], PROJECT["license"])
    (entry,) = re.findall(r"```bibtex\n(.*?)```", text("README.md"), re.DOTALL)
    assert cited["title"].partition(":")[0] in entry and f"version = {{{cited['version']}}}" in entry


def test_every_pin_of_the_lock_is_that_of_the_constraints_and_every_requirement_is_locked():
    locked, held = pins("requirements.lock"), pins("constraints.txt")
    assert {name: version for name, version in locked.items() if held.get(name, version) != version} == {}
    asked, extras = list(PROJECT["dependencies"]), PROJECT["optional-dependencies"]
    for each in extras["all"]:
        ours = re.search(r"^dond-marl\[(\w+)\]", each)
        asked += extras[ours[1]] if ours else [each]
    names = {canonicalize_name(Requirement(each).name) for each in asked} - {PROJECT["name"]}
    assert names <= locked.keys()
    assert "://" not in text("requirements.lock") and text("requirements.lock").count("--hash=sha256:") > len(locked)


@pytest.mark.parametrize("name", ["AGENTS.md", "llms.txt", "CODE_OF_CONDUCT.md"])
def test_every_file_and_command_that_a_note_names_exists(name):
    for target in re.findall(r"\]\(([^)]+)\)", text(name)):
        assert (ROOT / target).is_file(), target
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)", text(name))) <= targets
    for path in re.findall(r"\btests/[\w/]+\.py", text(name)):
        assert (ROOT / path).is_file(), path


def test_llms_txt_names_every_extra_that_a_user_takes_and_agents_the_order_of_the_floors():
    named = set(re.findall(r"`(\w+)`", text("llms.txt").partition("extras ")[2].partition(".")[0]))
    others = {"bench", "dev", "docs", "examples", "gguf", "ray"}  # of developers, clusters and one format of models
    assert named == PROJECT["optional-dependencies"].keys() - others
    assert "`scripts` → `league` → `partners` → `hints` → `dond_marl`" in text("AGENTS.md")


def test_the_container_installs_what_make_installs_and_the_hooks_what_check_runs():
    assert "'.[all]'" in text("Dockerfile") and "'.[all]'" in text("Makefile")
    (own,) = yaml.safe_load(text(".pre-commit-config.yaml"))["repos"]
    entries = [hook["entry"].removeprefix(".venv/bin/") for hook in own["hooks"]]
    for entry in entries:
        assert f"$(BIN)/{entry}" in text("Makefile"), entry


def test_issue_forms_are_what_the_forge_reads():
    for form in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        read = yaml.safe_load(form.read_text())
        if form.name != "config.yml":
            assert {"name", "description", "body"} <= read.keys()
            assert all(part["type"] in ("markdown", "textarea", "input") for part in read["body"])
            asked = [part["id"] for part in read["body"] if part["type"] != "markdown"]
            assert len(asked) == len(set(asked)) > 0
