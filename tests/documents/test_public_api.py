"""docs/API.md is the public API: what is on it is there, and what other pages and examples use is on it."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dond_marl
import hints
from scripts.docs_site.api_page import described, listed, sentence

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "API.md").read_text(encoding="utf-8")
OURS = ("dond_marl", "hints", "league", "partners")
OPTIONAL = {"dond_marl.envs.openspiel.game": "pyspiel"}  # a page's module, and what it needs that may be missing
NAMES = [(module, name) for _, module, name in listed(PAGE)]
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
    assert described(PAGE) == PAGE, "run python -m scripts.docs_site.api_page"


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


# The modules and names of docs/API.md in the last release, written down as they were.
OLD = {
    "dond_marl": "deal_or_no_dialog_v0 NegotiationEnv SingleAgentView __version__",
    "dond_marl.views": "view as_bools",
    "dond_marl.policy_partner": "PolicyPartner view_masks",
    "dond_marl.game": "Act Action Scenario Rules State Outcome Ending IllegalAct apply legal_actions may_agree",
    "dond_marl.env": "OrderError",
    "dond_marl.spaces": "InvalidAction ActionMask",
    "dond_marl.single_agent": "PartnerError",
    "dond_marl.seats": "Partner Hinter Turns Decisions Hints Traits Cause History decide worth",
    "dond_marl.occupants": "seat_occupant check_spec catalogue spec_name OccupantNameError",
    "dond_marl.conformance": "check_partner check_in_another_process",
    "dond_marl.scenarios": "open_source Scenarios ScenarioSource ScenarioError pack",
    "dond_marl.data": "DataError",
    "dond_marl.rollout": "rollout OccupantError",
    "dond_marl.batch": "Table Games",
    "dond_marl.features": "BaseLayout encode ObservationEncoder",
    "dond_marl.splits": "action_count action_index action_at legal_action_mask",
    "dond_marl.metrics": "points_of_ten Estimate",
    "dond_marl.solve": "solve",
    "dond_marl.yardsticks": "response_value Value",
    "dond_marl.record": "GameRecord to_line from_json records replay",
    "dond_marl.openspiel_game": "NAME DealGame answer",
    "dond_marl.openspiel_seat": "say",
    "hints": "HintInjectorEnv HintAdapter HintSchedule RandomHinter ExpertHinter HinterError LayoutError",
    "league.config": "load_config parse dump Config ConfigError",
    "league.evaluate": "evaluate Evaluation",
    "league.heldout_score": "heldout_score before_and_after",
    "league.ledger": "Ledger LedgerError",
}
NEW = {  # where they moved to; the other modules are where they were
    "dond_marl.views": "dond_marl.envs.views",
    "dond_marl.policy_partner": "dond_marl.envs.policy_partner",
    "dond_marl.env": "dond_marl.envs.aec",
    "dond_marl.spaces": "dond_marl.envs.spaces",
    "dond_marl.single_agent": "dond_marl.envs.single_agent",
    "dond_marl.data": "dond_marl.scenarios.data",
    "dond_marl.features": "dond_marl.envs.features",
    "dond_marl.metrics": "dond_marl.yardsticks.metrics",
    "dond_marl.solve": "dond_marl.yardsticks.solve",
    "dond_marl.record": "dond_marl.records.record",
    "dond_marl.openspiel_game": "dond_marl.envs.openspiel.game",
    "dond_marl.openspiel_seat": "dond_marl.envs.openspiel.seat",
    "league.config": "league.settings.read",
    "league.evaluate": "league.evaluation.evaluate",
    "league.heldout_score": "league.evaluation.heldout_score",
}


@pytest.mark.parametrize("old", OLD)
def test_the_imports_of_the_last_release_go_on_working(old, monkeypatch):
    """The same objects, with a warning where the module has moved."""
    new = NEW.get(old, old)
    if importlib.util.find_spec(OPTIONAL.get(new, "dond_marl")) is None:
        pytest.skip(f"{new} needs {OPTIONAL[new]}")
    if new != old:
        monkeypatch.delitem(sys.modules, old, raising=False)  # another test may have imported it
        with pytest.warns(DeprecationWarning, match=f"^{re.escape(old)} has moved to {re.escape(new)}; ") as warned:
            module = importlib.import_module(old)
        assert len(warned) == 1
    else:
        module = importlib.import_module(old)
    for name in OLD[old].split():
        assert getattr(module, name) == getattr(importlib.import_module(new), name)
        assert (new, name) in NAMES


def test_whoever_imports_an_old_name_is_told_by_file_and_line(tmp_path):
    (tmp_path / "mine.py").write_text("import dond_marl\n\nfrom dond_marl.views import view\n", encoding="utf-8")
    command = [sys.executable, "-W", "always::DeprecationWarning", "mine.py"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "mine.py:3: DeprecationWarning: dond_marl.views has moved to dond_marl.envs.views" in run.stderr
