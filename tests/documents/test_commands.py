"""Every command of the README and the pages runs, page by page in order, in one folder as a reader would.

Commands that take long are shortened by the rules below. The fast commands of the README run in the default suite, with
``dond`` in this process; the rest and the other pages run among the slow tests, in a shell.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.command import in_process
from tests.documents.pages import PAGES, ROOT, blocks, commands, name_of
from tests.dond.web.browser import serving

BIN = ".venv/bin/"
SMALL = '--set training.num_envs=16 --set league.block_size=4 --set "learners=[{name: main, decisions: 50}]"'
ROUNDS = f"{SMALL} --set league.evaluate=false --set env.max_turns=2 --set heldout=[]"
STEPS = "--set training.num_train_steps=200 --set env.max_turns=2"
TINY = "--set training.num_envs=64 --set training.threads=1"


@dataclass(frozen=True)
class Rule:
    """How the commands that match a pattern are run here."""

    pattern: str  # matches from the start of the command; of a make target, without .venv/bin/
    add: str = ""  # arguments that shorten it; a --set replaces the one of the same key in the command
    typed: str = ""  # standard input
    slow: bool = False  # among the slow tests only
    serves: bool = False  # it serves pages until it is stopped: one page is requested
    needs: str = ""  # a module, or "data" for the published files
    skip: str = ""  # not run here: the reason


# The first rule that matches counts; a command without a rule runs as it stands.
RULES = (
    Rule(r".*(sb3|openspiel|CHECKPOINT|127\.0\.0\.1)", skip="needs a trained policy; see test_examples.py"),
    Rule(r"dond (serve|data fetch)|.*SmolLM2", skip="network; see tests/partners/llm, tests/league"),
    Rule(r"python -m build|pip install", skip="see tests/repository/test_wheel.py"),
    Rule(r"source ", skip="the commands are on the path here"),
    Rule(r"python -m scripts.docs_site.build", skip="see test_site.py"),
    Rule(r"python -m pytest", "-p no:cacheprovider tests/dond_marl/test_game.py -n 0"),
    Rule(r"dond data .*--help"),
    Rule(r"python -m experiments ", skip="hours; see tests/experiments"),
    Rule(r"dond study serve|dond study (export|analyse)", skip="see the tests of the study"),
    Rule(r"dond web$", serves=True, needs="starlette"),
    Rule(r"dond web", serves=True, slow=True, needs="starlette"),
    Rule(r"dond play", "--max-turns 2", typed="e\n"),
    Rule(r"dond evaluate .*supervised", "--sample 20", needs="data"),
    Rule(r"dond evaluate", "--sample 20 --max-turns 2"),
    Rule(r"dond bench table", slow=True),
    Rule(r"dond bench .*(--run|checkpoints)", skip="see tests/league/bench"),
    Rule(r"git clone|dond bench .*people_dev", skip="network; see tests/partners/rosters"),
    Rule(r"dond bench .*--adversary", skip="minutes; see tests/league/evaluation/test_best_reply.py"),
    Rule(r"dond bench .*test2", skip="each is logged; see tests/league/bench/test_results.py"),
    Rule(r"dond bench", "--sample 20 --allow-uncommitted", slow=True),
    Rule(r"dond train --resume"),
    Rule(r"dond train .*--algo bc", "--set training.epochs=1", needs="data"),
    Rule(r"dond train .*wandb", skip="see tests/league/ledger/test_trackers.py"),
    Rule(r"dond train .*ppo_fast", f"{TINY} {STEPS}"),
    Rule(r"dond train .*ppo_memory", f"{TINY} {STEPS} --set env.partner=heuristic", slow=True),
    Rule(r"(dond|python scripts/train.py) .*--algo (reinforce|ppo --hint llm)", STEPS, slow=True),
    Rule(r"python scripts/train.py .*--hint llm|dond train .*hints.mode=expert", STEPS, slow=True),
    Rule(r"dond train", STEPS),
    Rule(r"dond league .*--dry-run", SMALL),
    Rule(r"dond league --resume$", slow=True),
    Rule(r"dond league (--resume|explain)"),
    Rule(r"dond league .*league_quick.*ray", ROUNDS, needs="ray"),
    Rule(r"dond league .*league_(quick|mine)|dond league .*mine.yaml", f"{ROUNDS} --set league.rounds=4"),
    Rule(r"dond league .*use_dataset", "--set league.rounds=1 --set league.block_size=8", needs="data"),
    Rule(r"dond league .*league_scripted", "--set league.rounds=1 --set league.block_size=8"),
    Rule(r"dond league .*league_llm", ROUNDS.replace("name: main", "name: hinted"), slow=True),
    Rule(
        r"(dond league|python scripts/league.py) .*configs/league.yaml",
        f"{ROUNDS} --set league.rounds=4 --set members=[heuristic]",
        slow=True,
    ),
    Rule(r"dond (report|export) ", slow=True),
)
SETUP = "make setup"  # fetches packages: only its dry run is checked


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """A copy of this checkout to run commands in, without its runs, data and virtual environment."""
    for entry in ROOT.iterdir():
        if not entry.name.startswith(".") and entry.name not in ("runs", "data", "build", "site", "dist", "configs"):
            (tmp_path / entry.name).symlink_to(entry)
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    for name, program in (("python", sys.executable), ("dond", f"{sys.executable} -m dond")):
        command = tmp_path / ".venv" / "bin" / name
        command.write_text(f'#!/bin/sh\nexec {program} "$@"\n')
        command.chmod(0o755)
    for stamp in (".user", ".ready"):
        (tmp_path / ".venv" / stamp).touch()
    data = Path(os.environ.get("DOND_DATA_DIR") or ROOT / "../shared/data").resolve()
    if data.is_dir():
        (tmp_path / "data").symlink_to(data)
    for key in [key for key in os.environ if key.endswith("_API_KEY")]:
        monkeypatch.delenv(key)
    for key, value in (("OMP_NUM_THREADS", "1"), ("XDG_CACHE_HOME", str(tmp_path / "cache"))):
        monkeypatch.setenv(key, value)
    monkeypatch.setenv("PATH", str(tmp_path / ".venv" / "bin"), prepend=os.pathsep)
    return tmp_path


def make_recipe(command: str, home: Path) -> str:
    """The command behind a ``make`` target that is set up; any other command unchanged."""
    if not command.startswith("make "):
        return command
    line = dry_run(command.removeprefix("make "), home).splitlines()[-1]
    return re.sub(r"^trap : INT; | \|\| \{ code=.*$", "", line)  # the part that handles an interrupt


def dry_run(words: str, home: Path) -> str:
    """Output of ``make -n``, also where ``make`` itself runs this test."""
    alone = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    done = subprocess.run(["make", "-n", *words.split()], cwd=home, env=alone, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rule_of(command: str) -> Rule:
    """The first rule that matches, or a rule that runs the command as it stands."""
    bare = command.removeprefix(BIN)
    return next((rule for rule in RULES if re.match(rule.pattern, bare)), Rule(""))


def lacking(needed: str, home: Path) -> bool:
    """Whether an optional module or the published data is missing on this machine."""
    return not (home / "data").exists() if needed == "data" else bool(needed) and find_spec(needed) is None


def run(command: str, rule: Rule, home: Path, variables: list[str]) -> None:
    """Run it as a shell would, shortened; it has to end well."""
    line = shortened(command, rule)
    done = subprocess.run(
        ["bash", "-c", "\n".join([*variables, line])], input=rule.typed, capture_output=True, text=True, cwd=home
    )
    assert done.returncode == 0, f"{line}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


def run_here(command: str, rule: Rule, home: Path, variables: list[str]) -> None:
    """The same without a process of its own, once a shell has read the words."""
    line = shortened(command, rule)
    read = "\n".join([*variables, rf"printf '%s\0' {line}"])
    words = subprocess.run(["bash", "-c", read], capture_output=True, text=True, cwd=home, check=True).stdout.split(
        "\0"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.StringIO(rule.typed))
        done = in_process(*words[1:-1], cwd=home)
    assert done.returncode == 0, f"{line}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


def shortened(command: str, rule: Rule) -> str:
    """The command with the rule's arguments; of a key that both set, the rule's value counts."""
    for key in re.findall(r"--set ([\w.]+)=", rule.add):
        command = re.sub(rf" --set {re.escape(key)}=\S+", "", command)
    return f"{command} {rule.add}"


def walk(page: Path, home: Path, *, slow: bool) -> None:
    """Every command of a page in order; ``slow``: also those that take minutes."""
    for text in blocks(page, "yaml"):
        (home / text.splitlines()[0].removeprefix("# ")).write_text(text)
    variables, done = list[str](), set[str]()
    for command in commands(page):
        if command.startswith(SETUP):
            continue
        if re.match(r"[A-Z]+=", command):
            variables.append(command)
            continue
        line = make_recipe(command, home)
        rule = rule_of(line)
        if rule.skip or line in done or (rule.slow and not slow) or lacking(rule.needs, home):
            continue
        done.add(line)
        if rule.serves:
            with serving(home, *line.removeprefix(BIN).removeprefix("dond web").split()):
                pass  # it answers and stops cleanly
        elif slow or not line.removeprefix(BIN).startswith("dond "):
            run(line, rule, home, variables)
        else:
            run_here(line, rule, home, variables)


def test_readme_commands_run(home):
    walk(ROOT / "README.md", home, slow=False)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=name_of)
def test_page_commands_run(page, home):
    walk(page, home, slow=True)


def test_commands_are_those_of_the_activated_environment():
    assert "source .venv/bin/activate" in commands(ROOT / "README.md")
    typed = [f"{name_of(page)}: {line}" for page in PAGES for line in commands(page)]
    assert not [line for line in typed if BIN in line and "activate" not in line]


def test_make_sets_up_first(home):
    """User targets install ``[all]``, developer targets ``[dev]``."""
    shutil.rmtree(home / ".venv")
    for target, extra in (("setup", "all"), ("league", "all"), ("play", "all"), ("test", "dev")):
        text = dry_run(f"{target} TORCH_INDEX=https://a.b/cpu", home)
        assert text.index("-m venv .venv") < text.index('--extra-index-url "https://a.b/cpu" --editable')
        assert f"--editable '.[{extra}]'" in text
        assert target == "setup" or text.rindex("--editable") < text.rindex(".venv/bin/")


@pytest.mark.parametrize(("code", "ends"), [(0, 0), (130, 0), (3, 2)])
def test_make_reports_failures_but_not_interrupts(home, code, ends):
    dond = home / ".venv" / "bin" / "dond"
    dond.unlink()
    dond.write_text(f"#!/bin/sh\nexit {code}\n")
    dond.chmod(0o755)
    alone = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    done = subprocess.run(["make", "play"], cwd=home, env=alone, capture_output=True, text=True)
    assert done.returncode == ends, done.stderr
    assert ("Error" in done.stderr) == (code == 3)
