"""Published figures beside ours: what was read and what was not, the players, and both commands, tiny."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import date

import pytest
import torch

from dond_marl.errors import InputError
from experiments.field.published import reproduction
from experiments.field.published.cells import FILE, published
from experiments.field.published.cells import parsed as cells_of
from experiments.field.published.learner import learned
from experiments.field.published.results import MEASURES, Found, Row, Step, lines, parsed, row_of
from experiments.field.published.settings import GameSection, GoalTraining, PublishedConfig
from experiments.field.published.table import beside, markdown
from experiments.kept import made_now
from league.settings.read import ConfigError, load_config
from partners.network.network import PolicyNetwork
from partners.network.shape import NetworkShape
from tests.command import HERE, ROOT, dond

TINY = (
    "seeds=1",
    "cloning.epochs=1",
    "cloning.hidden=[8]",
    "learning.games=64",
    "arms=[{name: rl}]",
    "searches=[{name: both, own: rl, simulations: 1, candidates: 1}]",
)


def found(*points: float) -> Found:
    """The player rl with a seed for each of ``points``; of ten games, nine deals."""
    rest = {**dict.fromkeys(MEASURES, 4.0), "deals": 0.9}
    rows = [Row("rl", seed, 10, {**rest, "points": own}, [Step(0, own, 0.9, 4.0)]) for seed, own in enumerate(points)]
    return Found({"title": "those of today"}, rows)


def test_five_papers_and_thirty_figures_were_read_each_with_its_place_and_what_nobody_read_has_no_figure():
    read = [cell for cell in published().cells if cell.value is not None]
    assert len(read) >= 30 and len({cell.paper for cell in published().cells}) >= 5
    assert all(cell.status != "unread" and cell.read for cell in read)
    assert all(cell.value is None for cell in published().cells if cell.status == "unread")
    assert all((cell.ours is None) == bool(cell.none) for cell in published().cells)


@pytest.mark.parametrize(
    ("says", "instead", "why"),
    [
        ("status: excerpt", "status: unread", "what nobody could open has no figures"),
        ("status: excerpt", "status: seen", "status must be one of opened, excerpt, unread"),
        ("paper: he2018", "paper: she2018", "paper must be one of lewis2017"),
        ("none: needs people,", "none: needs people, ours: rl,", "either who of ours"),
    ],
)
def test_an_entry_that_claims_what_it_does_not_show_is_refused(says, instead, why):
    text = FILE.read_text(encoding="utf-8")
    assert says in text
    with pytest.raises(InputError, match=why):
        cells_of(text.replace(says, instead, 1))


def test_a_figure_of_ours_stands_beside_the_published_one_with_its_seeds_and_in_its_unit():
    rows = markdown(published(), [found(7.0, 7.2)]).splitlines()
    known = next(row for row in rows if row.startswith("| RL | LIKELIHOOD | points |"))
    assert "| 7.1 | excerpt b |" in known and "| 7.10 (5.83..8.37) | 2 seeds, 20 games |" in known  # t = 12.71
    assert "; b: quoted in" in next(row for row in rows if row.startswith("Read in: a: "))
    unread = next(row for row in rows if row.startswith("| RL | LIKELIHOOD | deals, % |"))
    assert "| - | unread | 90.00 (90.00..90.00) |" in unread and "| those of today | over |" in "\n".join(rows)
    people = next(row for row in rows if row.startswith("| people | people | deals, %"))
    assert "77.91" in people  # of the published dialogues, whoever else was measured


def test_people_and_who_was_not_measured():
    by_measure = {cell.measure: cell for cell in published().cells if cell.ours == "rollouts"}
    assert beside(by_measure["points"], found(7.0)) is None and beside(by_measure["points"], None) is None


def test_how_near_a_learner_comes_to_the_published_row_and_when_it_passes_it():
    near = reproduction.markdown(found(6.9, 7.1))  # and 4.0 of the other's: within 0.4 of 7.1 and of 4.2
    assert "| `rl` | 2 | -0.10 (-1.37..1.17) | -0.20 (-0.20..-0.20) | yes |" in near
    assert near.endswith("at or above 7.1 points: nobody.")
    above = reproduction.markdown(found(8.0))
    assert "| no |" in above and above.endswith("points: `rl` after 0 games.")


def test_results_are_lines_that_are_read_again():
    again = parsed(lines(found(7.0, 7.2)).splitlines())
    assert again == found(7.0, 7.2)
    for wrong in (["{}"], ["no"], []):
        with pytest.raises(InputError, match="make them again"):
            parsed(wrong)


def test_every_line_says_when_and_with_what_it_was_played_and_older_ones_that_this_is_not_known():
    now = made_now("numpy", "torch")
    assert date.fromisoformat(now["date"])
    assert set(now["versions"]) == {"dond-marl", "commit", "python", "numpy", "torch"}
    (row,) = found(7.0).rows
    dated = Found({}, [row._replace(**now)])
    line = lines(dated).splitlines()[1]
    assert json.loads(line)["versions"]["torch"] == torch.__version__ and parsed(['{"settings": {}}', line]) == dated
    older = {name: value for name, value in json.loads(line).items() if name not in now}
    assert row_of(older).date is None is row_of(older).versions


def test_learning_is_a_function_of_its_seed_and_the_pull_keeps_it_near_where_it_began():
    first = PolicyNetwork(NetworkShape(hidden=(8,)), seed=0)
    game, training = GameSection(), GoalTraining(algo="reinforce", lr=0.01, rollout=1, num_envs=32, games=320)

    def moved(seed: int, pull: float) -> float:
        network = learned(training, game, pull, first, seed).network
        return sum(
            float((new - old).detach().abs().sum())
            for new, old in zip(network.parameters(), first.parameters(), strict=True)
        )

    assert moved(0, 0.0) == moved(0, 0.0) != moved(1, 0.0)
    curve = learned(training, game, 0.0, first, 0, points=5).curve
    assert [step.games for step in curve] == [0, 64, 128, 192, 256] and torch.get_num_threads() == 1
    assert moved(0, 1000.0) != moved(0, 0.0)


def test_settings_that_name_nobody_are_refused():
    path = ROOT / "experiments" / "configs" / "published.yaml"
    with pytest.raises(ConfigError, match="own must be one of likelihood, rl"):
        load_config(path, ["searches=[{name: both, own: nobody}]"], PublishedConfig)
    with pytest.raises(ConfigError, match="a name of their own"):
        load_config(path, ["arms=[{name: likelihood}]"], PublishedConfig)


def test_the_table_is_printed_without_pytorch(tmp_path):
    (tmp_path / "ours.jsonl").write_text(lines(found(7.0, 7.2)))
    code = (
        "import sys; from league.cli.main import main; "
        "words = ['--markdown', '--results', 'ours.jsonl', '--json', 'all.json']; "
        "code = main(['experiment', 'published-table', *words]); "
        "assert 'torch' not in sys.modules; sys.exit(code)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=HERE, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert "7.10 (5.83..8.37)" in ended.stdout
    document = json.loads((tmp_path / "all.json").read_text())
    assert len(document["cells"]) == len(published().cells)


@pytest.mark.slow
def test_one_command_makes_and_plays_everybody_and_goes_on_where_it_was(data_dir, tmp_path):
    words = ("experiment", "published", "--results", tmp_path / "results.jsonl")
    settings = [*TINY, f"data_dir={data_dir}", f"output_dir={tmp_path / 'kept'}"]
    assert dond(*words, overrides=settings) == 0
    first = (tmp_path / "results.jsonl").read_text()
    assert parsed(first.splitlines()).players == ["likelihood", "rl", "both"]
    assert all(row.date and row.versions for row in parsed(first.splitlines()).rows)
    [kept] = [path for path in (tmp_path / "kept").iterdir() if '"who": "both"' in path.read_text()]
    kept.unlink()
    assert dond(*words, overrides=settings) == 0
    assert (tmp_path / "results.jsonl").read_text() == first
