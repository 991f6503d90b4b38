"""Every command of the README and the pages is run, page by page in order, in one folder as a reader would.

What would take long is shortened, and how stands in one table below: a command that is not in it fails, as does an
entry that no page has any more. The README runs in the default suite, but for what takes longest, its ``dond`` in this
process; that and the other pages are run among the slow tests, in a shell. What needs the network is not run; the table
names the test that covers it.
"""

from __future__ import annotations

import ast
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
from tests.league.web.browser import serving

BIN = ".venv/bin/"
INSTALLED = "tests/repository/test_wheel.py::test_the_quick_league_is_played_to_its_ladder_from_another_directory"
ELSEWHERE = "tests/documents/test_examples.py::test_a_policy_trained_elsewhere_sits_in_the_league"
BENCH = "tests/league/bench/test_run.py"
PACKED = (
    "tests/partners/llm/pretrained/test_packed.py::test_it_is_kept_from_a_wheel_and_then_sits_and_judges_by_its_name"
)
STUDY = (
    "tests/league/web/study/test_rehearsal.py::"
    "test_129_participants_come_to_their_codes_and_their_games_are_those_that_are_known"
)
SUBMITTED = "tests/documents/test_examples.py::test_a_policy_of_openspiel_is_submitted_to_the_benchmark"
SMALL = '--set training.num_envs=16 --set league.block_size=4 --set "learners=[{name: main, decisions: 50}]"'
ROUNDS = f"{SMALL} --set league.rounds=4 --set league.evaluate=false --set env.max_turns=2"
STEPS = "--set training.num_train_steps=200 --set env.max_turns=2"


@dataclass(frozen=True)
class How:
    """How a command is run here: what is added to it, what is put for a part of it, what is typed into it."""

    add: str = ""
    instead: tuple[str, str] = ("", "")
    typed: str = ""
    slow: bool = False  # run among the slow tests alone
    serves: bool = False  # it serves pages until it is stopped: they are asked for one
    needs: str = ""  # a module, or "data" for the published files
    by: str = ""  # not run here, but by this test: file::name


HOW = {
    # The README.
    "dond train --config configs/ppo_fast.yaml --set training.num_train_steps=1000000": How(
        "--set training.num_envs=64 --set training.threads=1 --set env.max_turns=2", ("1000000", "500")
    ),
    'dond evaluate --member "$AGENT" --against heuristic --plot plane.png': How("--sample 20 --max-turns 2"),
    'dond play --partner "$AGENT"': How("--max-turns 2", typed="e\n"),
    "dond league --config configs/league_quick.yaml": How(f"{ROUNDS} --set heldout=[]"),
    "dond league explain --run runs/league_quick/0001 --round 3": How(),
    "dond report --run runs/league_quick/0001": How(),
    "dond report --run runs/league": How(slow=True),
    "dond catalogue": How(),
    "dond demo": How(),
    "dond rosters list": How(),
    "dond rosters check": How(
        by="tests/partners/rosters/test_draw.py::test_every_member_of_the_shipped_rosters_is_admitted_again"
    ),
    "dond rosters check first_acceptable_offer": How(),
    "dond train --algo ppo --hint none --config configs/ppo_config.yaml": How(STEPS),
    "dond train --algo reinforce --hint expert --config configs/reinforce_config.yaml": How(STEPS, slow=True),
    "python scripts/train.py --algo ppo --hint llm --config configs/ppo_config.yaml": How(STEPS, slow=True),
    "dond train --algo ppo --hint llm --config configs/ppo_config.yaml": How(STEPS, slow=True),
    "dond train --resume": How(),
    "python scripts/league.py --config configs/league.yaml": How(
        f"{ROUNDS} --set heldout=[] --set members=[heuristic]", slow=True
    ),
    "dond league --config configs/league.yaml": How(f"{ROUNDS} --set heldout=[] --set members=[heuristic]", slow=True),
    "dond league --config configs/league.yaml --dry-run": How(SMALL),
    "dond league --config configs/league.yaml --workers 2 --set league.rounds=5": How(
        f"{ROUNDS.replace('--set league.rounds=4 ', '')} --set heldout=[] --set members=[heuristic]",
        ("rounds=5", "rounds=1"),
        slow=True,
    ),
    "dond league --resume": How(slow=True),
    "dond experiment compare configs/league_quick.yaml configs/league_spite.yaml": How(
        f"{SMALL} --set league.rounds=1 --set env.max_turns=2 --set heldout=[tough] --set members=[heuristic]",
        slow=True,
    ),
    "dond web": How(serves=True, needs="nicegui"),
    "dond web --run runs/league/0001": How(serves=True, slow=True, needs="nicegui"),
    "dond web --run runs": How(serves=True, slow=True, needs="nicegui"),
    'python -m pytest -n 2 --dist worksteal -m "not slow"': How(
        "-p no:cacheprovider tests/dond_marl/test_game.py", ("-n 2 --dist worksteal", "-n 0")
    ),
    "python -m scripts.docs_site.build": How(
        by="tests/documents/test_site.py::test_the_site_is_built_with_every_link_whole"
    ),
    # The recipes.
    "dond catalogue linear": How(),
    "dond evaluate --member linear --against heuristic": How("--sample 20 --max-turns 2"),
    'dond league --config configs/league_scripted.yaml --set "members=[linear, heuristic, tough]"': How(
        "--set league.rounds=1 --set league.block_size=8"
    ),
    "dond train --config configs/ppo_config.yaml --set hints.mode=expert --set hints.expert=nash_seeker": How(
        STEPS, slow=True
    ),
    "dond league --config configs/league_mine.yaml --dry-run": How(SMALL, slow=True),
    "dond league --config configs/league_mine.yaml": How(f"{ROUNDS} --set heldout=[] --set members=[heuristic]"),
    "dond experiment compare configs/league_mine.yaml configs/league_quick.yaml --seeds 1 2 3": How(
        f"{SMALL} --set league.rounds=1 --set env.max_turns=2 --set heldout=[tough] --set members=[heuristic]",
        ("1 2 3", "1"),
        slow=True,
    ),
    # The other pages.
    "dond league --config configs/league_quick.yaml --backend ray --workers 2": How(
        f"{ROUNDS} --set heldout=[] --set members=[heuristic]", needs="ray"
    ),
    "dond data fetch": How(
        by="tests/dond_marl/scenarios/test_fetch.py::test_the_script_brings_all_four_files_from_another_directory_and_then_finds_them_there"
    ),
    "dond league --config configs/league_scripted.yaml --set env.use_dataset=true --set env.dataset=self_play "
    "--set env.data_dir=data": How("--set league.rounds=1 --set league.block_size=8", needs="data"),
    "dond league explain --run runs/league/0001 --round 3": How(),
    "dond train --config configs/ppo_fast.yaml": How(f"{STEPS} --set training.num_envs=64"),
    "dond evaluate --member expert --against heuristic": How(),
    "dond evaluate --member expert --against heuristic --plot plane.png --json evaluation.json": How(),
    "dond evaluate --member stubborn --against boulware --probe": How(),
    "dond train --algo bc --config configs/bc_config.yaml --set env.data_dir=data": How(
        "--set training.epochs=1", needs="data"
    ),
    'dond evaluate --member "expert(kind=supervised)" --against heuristic': How("--sample 20", needs="data"),
    "dond experiment humanlike --data-dir data": How(
        by="tests/league/experiments/test_humanlike.py::test_one_command_makes_the_table"
    ),
    "dond experiment short-games --workers 2": How(
        by="tests/league/experiments/test_short_games.py::test_the_command_learns_measures_and_goes_on_where_it_was"
    ),
    "dond experiment published --set data_dir=data": How(
        by="tests/league/experiments/field/test_published.py::"
        "test_one_command_makes_and_plays_everybody_and_goes_on_where_it_was"
    ),
    "dond published": How(),
    "dond experiment bargaining": How(
        by="tests/league/experiments/field/test_bargaining.py::"
        "test_everybody_meets_everybody_in_both_games_and_what_is_kept_is_not_played_again"
    ),
    "dond experiment styles": How(
        by="tests/league/experiments/test_styles.py::test_the_command_compares_writes_and_keeps_the_learners"
    ),
    "dond data transcripts dialogues --help": How(),
    "dond experiment distill --help": How(),
    "dond experiment hints --config configs/hint_experiment.yaml": How(
        by="tests/league/experiments/test_hints.py::test_the_command_trains_measures_and_draws"
    ),
    **{
        f"dond experiment baselines{words}": How(
            by="tests/league/experiments/test_baselines.py::"
            "test_the_command_trains_measures_and_prints_with_two_workers"
        )
        for words in (
            *("", " --against test", " --config configs/selection.yaml", " --config configs/memory.yaml"),
            *(
                f" --config configs/{name}.yaml"
                for name in ("ablation", "curricula", "full_budget", "robust", "taught")
            ),
        )
    },
    "dond experiment baselines --config configs/ablation.yaml --dry-run": How(
        by="tests/league/experiments/test_baselines.py::"
        "test_what_is_not_done_yet_and_its_cost_is_told_before_anything_is_written"
    ),
    "dond train --config configs/ppo_memory.yaml": How(
        f"{STEPS} --set training.num_envs=64 --set env.partner=heuristic", slow=True
    ),
    "dond train --config configs/ppo_taught.yaml --set training.init_from=CHECKPOINT": How(
        by="tests/partners/learning/test_exact_reply.py::test_in_a_share_of_its_practice_it_plays_its_likeliest_acts"
    ),
    'dond train --config configs/ppo_config.yaml --set "logging.trackers=[wandb]"': How(
        by="tests/league/ledger/test_trackers.py::test_wandb_runs_offline_in_the_folder_of_the_run"
    ),
    **{
        f"dond export {words}": How(
            by="tests/league/ledger/test_exported.py::test_csv_and_parquet_and_frames_hold_the_same"
        )
        for words in ("runs/league/0001 --to parquet", "runs/league --to csv --table games")
    },
    "dond push runs/ppo_fast --dry-run": How(
        by="tests/league/cli/test_sharing.py::"
        "test_a_model_folder_plays_as_its_checkpoint_does_and_its_card_has_measured_scores"
    ),
    "dond push runs/league --transcripts --dry-run": How(
        by="tests/league/cli/test_sharing.py::test_a_data_set_holds_every_game_in_words_and_as_a_record_that_replays"
    ),
    "dond push runs/ppo_fast --to OWNER/dond-ppo": How(
        by="tests/league/cli/test_sharing.py::test_nothing_is_uploaded_without_being_told_where_and_without_a_token"
    ),
    "dond league --config configs/league_llm.yaml": How(
        "--set training.num_envs=16 --set league.block_size=2 --set heldout=[] --set env.max_turns=2", slow=True
    ),
    "dond catalogue boulware llm": How(),
    'dond llm-check "llm(provider=hf)"': How(),
    "dond get-model smollm2": How(by=PACKED),
    'dond play --partner "llm(provider=hf, model=smollm2, prompt=brief, dtype=bfloat16)"': How(by=PACKED),
    "dond play --partner expert": How(typed="e\n"),
    "python -m build": How(
        by="tests/repository/test_wheel.py::test_the_sdist_holds_what_the_tests_need_and_the_wheel_every_module_and_config_but_no_script_in_3_megabytes"
    ),
    "pip install --constraint constraints.txt dist/dond_marl-0.1.0-py3-none-any.whl": How(by=INSTALLED),
    "dond": How(),
    # The benchmark.
    "dond bench expert --against dev": How("--sample 20", slow=True),
    "dond bench expert --against dev --beyond": How(slow=True),
    'dond bench heuristic --against boulware --against "linear(floor=0.6)"': How("--sample 20", slow=True),
    "dond bench table": How(slow=True),
    "dond bench beliefs expert --of train": How(
        by="tests/league/bench/test_recognition.py::test_the_command_keeps_a_line_and_prints_it"
    ),
    "dond bench crowd --of train": How(
        by="tests/league/bench/test_crowd.py::test_the_command_prints_and_keeps_the_price"
    ),
    "dond experiment double-oracle --turns 4": How(
        by="tests/league/experiments/test_double_oracle.py::test_the_command_prints_each_iteration_and_keeps_the_end"
    ),
    "dond bench runs/ppo/0001/checkpoints/step_000000202209.json --against dev --name ppo --seed 1": How(
        by=f"{BENCH}::test_a_checkpoint_is_named_by_its_weights_and_not_by_where_it_lies"
    ),
    "dond bench --run runs/league --member main --against dev": How(
        by=f"{BENCH}::test_a_member_of_a_league_is_measured_live_and_as_a_snapshot"
    ),
    "pip install '.[examples]' scripts/examples/sb3_partner scripts/examples/openspiel_partner": How(by=SUBMITTED),
    "python scripts/examples/sb3_maskable_ppo.py --steps 800000 --save sb3.zip": How(by=ELSEWHERE),
    'dond bench "sb3(path=\'sb3.zip\')" --against test --name "SB3 MaskablePPO, self-play" '
    '--declare "itself alone: self-play on the split train"': How(by=ELSEWHERE),
    'python scripts/examples/openspiel_ppo.py --steps 100000 --partner "mixture(of=zoo)" --save openspiel.pt': How(
        by=SUBMITTED
    ),
    'dond bench "openspiel(path=\'openspiel.pt\')" --against test --name "OpenSpiel PPO, train roster" '
    '--declare "the train roster, on the split train"': How(by=SUBMITTED),
    # A study with people.
    "dond study power": How(),
    "dond study rehearse --config configs/study.yaml": How("--repeats 2 --set conditions=[heuristic]"),
    "dond study serve --config configs/study.yaml": How(by=STUDY),
    "dond study export runs/study": How(by=STUDY),
    "dond study analyse runs/study": How(by=STUDY),
    # Another library.
    "python scripts/examples/sb3_maskable_ppo.py --save model.zip": How(by=ELSEWHERE),
    "dond evaluate --member \"sb3(path='model.zip')\" --against heuristic": How(by=ELSEWHERE),
    "dond league --config configs/league_scripted.yaml "
    '--set "members=[heuristic, boulware, {kind: sb3, path: model.zip}]"': How(by=ELSEWHERE),
    "dond catalogue sb3": How(by=ELSEWHERE),
    # Language models.
    'dond serve expert "boulware(exponent=4)" --port 9000': How(
        by="tests/league/cli/test_serve.py::test_it_serves_until_it_is_stopped_also_while_a_client_is_connected"
    ),
    "dond evaluate --against heuristic --member "
    "\"llm(provider=openai, base_url='http://127.0.0.1:9000/v1', model=expert, structure=text)\"": How(
        by="tests/partners/llm/serving/test_server.py::test_our_own_client_plays_the_games_that_the_occupant_plays"
    ),
}
SETUP = "make setup"  # what it does is read, not done: it fetches packages


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """A checkout to type commands in: this one, but for its runs, its data and its virtual environment."""
    for entry in ROOT.iterdir():
        if not entry.name.startswith(".") and entry.name not in ("runs", "data", "build", "site", "dist", "configs"):
            (tmp_path / entry.name).symlink_to(entry)
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    for name, program in (("python", sys.executable), ("dond", f"{sys.executable} -m league")):
        command = tmp_path / ".venv" / "bin" / name
        command.write_text(f'#!/bin/sh\nexec {program} "$@"\n')
        command.chmod(0o755)
    for stamp in (".user", ".ready"):  # of what a user needs, and of what a developer does
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


def made(command: str, home: Path) -> str:
    """What ``make`` would run, were everything set up; any other command as it is."""
    if not command.startswith("make "):
        return command
    line = dry(command.removeprefix("make "), home).splitlines()[-1]
    return re.sub(r"^trap : INT; | \|\| \{ code=.*$", "", line)  # what it says of a stop by a person


def dry(words: str, home: Path) -> str:
    """What ``make`` says that it would run, also where ``make`` itself runs this test."""
    alone = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    done = subprocess.run(["make", "-n", *words.split()], cwd=home, env=alone, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def how(command: str) -> How:
    """Its entry in the table."""
    known = HOW.get(command.removeprefix(BIN))
    assert known is not None, f"nobody says how to run {command!r}: add it to HOW"
    return known


def lacking(needed: str, home: Path) -> bool:
    """Whether something that not every machine has is missing here."""
    return not (home / "data").exists() if needed == "data" else bool(needed) and find_spec(needed) is None


def run(command: str, entry: How, home: Path, variables: list[str]) -> None:
    """Run it as a shell would, shortened; it has to end well."""
    line = shortened(command, entry)
    done = subprocess.run(
        ["bash", "-c", "\n".join([*variables, line])], input=entry.typed, capture_output=True, text=True, cwd=home
    )
    assert done.returncode == 0, f"{line}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


def run_here(command: str, entry: How, home: Path, variables: list[str]) -> None:
    """The same without a process of its own, once a shell has read the words."""
    line = shortened(command, entry)
    read = "\n".join([*variables, rf"printf '%s\0' {line}"])
    words = subprocess.run(["bash", "-c", read], capture_output=True, text=True, cwd=home, check=True).stdout.split(
        "\0"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.StringIO(entry.typed))
        done = in_process(*words[1:-1], cwd=home)
    assert done.returncode == 0, f"{line}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


def shortened(command: str, entry: How) -> str:
    return f"{command.replace(*entry.instead)} {entry.add}" if entry.instead[0] else f"{command} {entry.add}"


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
        line = made(command, home)
        entry = how(line)
        if entry.by or line in done or (entry.slow and not slow) or lacking(entry.needs, home):
            continue
        done.add(line)
        if entry.serves:
            with serving(home, *line.removeprefix(f"{BIN}dond web").split()):
                pass  # it answered, and stops when it is told to
        elif slow or not line.startswith(f"{BIN}dond "):
            run(line, entry, home, variables)
        else:
            run_here(line, entry, home, variables)


def test_every_command_of_the_readme_runs(home):
    walk(ROOT / "README.md", home, slow=False)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=name_of)
def test_every_command_of_every_page_runs_also_those_that_take_minutes(page, home):
    walk(page, home, slow=True)


def test_the_table_has_every_command_and_no_other(home):
    lines = {made(command, home) for page in PAGES for command in commands(page) if not command.startswith(SETUP)}
    named = {line.removeprefix(BIN) for line in lines if not re.match(r"[A-Z]+=", line)}
    assert named == set(HOW)


INSTALLING = {  # what a package's own user types, without a checkout
    "python -m build",
    "pip install --constraint constraints.txt dist/dond_marl-0.1.0-py3-none-any.whl",
    "dond",
}


def test_every_command_that_is_to_be_typed_names_the_environment_that_the_set_up_made():
    bare = [
        f"{name_of(page)}: {line}"
        for page in PAGES
        for line in commands(page)
        if re.match(r"(dond|python|pip)\b", line) and line not in INSTALLING
    ]
    assert not bare


def test_what_is_not_run_here_is_run_by_a_test_that_exists():
    for entry in HOW.values():
        file, _, name = entry.by.partition("::")
        if entry.by:
            tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
            assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, entry.by


def test_make_sets_up_what_it_runs_first_and_says_so_before(home):
    """A user gets what a user needs; tests, types and lint come with the targets of developers."""
    shutil.rmtree(home / ".venv")
    for target, develops in (("setup", False), ("league", False), ("play", False), ("test", True), ("lint", True)):
        text = dry(target, home)
        said, made_at = text.index("echo 'set-up 1/2: "), text.index("-m venv .venv")
        told, brought = text.index("minutes"), text.index("--constraint constraints.txt  --editable '.[all]'")
        assert said < made_at < told < brought, text
        assert ("--editable '.[dev]'" in text) == develops
        if target != "setup":
            assert text.rindex("--editable") < text.rindex(".venv/bin/")


def test_the_index_of_pytorch_can_be_named(home):
    shutil.rmtree(home / ".venv")
    assert '--extra-index-url "https://a.b/cpu" --editable' in dry("setup TORCH_INDEX=https://a.b/cpu", home)


@pytest.mark.parametrize(("code", "ends"), [(0, 0), (130, 0), (3, 2)])
def test_make_calls_a_stop_by_a_person_no_error_and_a_failure_one(home, code, ends):
    dond = home / ".venv" / "bin" / "dond"
    dond.unlink()
    dond.write_text(f"#!/bin/sh\nexit {code}\n")
    dond.chmod(0o755)
    alone = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    done = subprocess.run(["make", "play"], cwd=home, env=alone, capture_output=True, text=True)
    assert done.returncode == ends, done.stderr
    assert ("Error" in done.stderr) == (code == 3)


def test_a_command_that_fails_is_a_failure(home):
    with pytest.raises(AssertionError, match=r"no such run|does not exist|no run"):
        run(f"{BIN}dond league --resume runs/nowhere", How(), home, [])
    with pytest.raises(AssertionError, match="add it to HOW"):
        how("dond unheard-of")
