"""Published figures beside ours: what was read and what was not, the players, and both commands, tiny."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import numpy as np
import pytest
import torch

from dond_marl.errors import InputError
from experiments.kit import provenance_now
from experiments.published import (
    MEASURES,
    CurveStep,
    GameSection,
    GoalTraining,
    PlayerRow,
    PublishedConfig,
    PublishedResults,
    parse_published,
    published_lines,
    row_from_json,
    train_goal_learner,
)
from experiments.published_table import (
    FIGURES_FILE,
    comparison_sections,
    own_figure,
    parse_figures,
    published_figures,
    read_columns,
    reproduction_section,
)
from league.settings.read import ConfigError, load_config
from league.tables.markdown import section_markdown
from partners.network.network import PolicyNetwork
from partners.network.shape import NetworkShape
from tests.command import ROOT, dond

RESULTS = ROOT / "docs" / "results"
TINY = (
    "seeds=1",
    "cloning.epochs=1",
    "cloning.hidden=[8]",
    "learning.games=64",
    "arms=[{name: rl}]",
    "searches=[{name: both, own: rl, simulations: 1, candidates: 1}]",
)


def found(*points: float) -> PublishedResults:
    """The player rl with a seed for each of ``points``; of ten games, nine deals."""
    rest = {**dict.fromkeys(MEASURES, 4.0), "deals": 0.9}
    rows = [
        PlayerRow("rl", seed, 10, {**rest, "points": own}, [CurveStep(0, own, 0.9, 4.0)])
        for seed, own in enumerate(points)
    ]
    return PublishedResults({"title": "those of today"}, rows)


def comparison(columns):
    sections = comparison_sections(published_figures(), columns)
    return "\n".join(map(section_markdown, sections)).splitlines()


def test_stored_figures_have_sources():
    read = [cell for cell in published_figures().cells if cell.value is not None]
    assert len(read) >= 30 and len({cell.paper for cell in published_figures().cells}) >= 5
    assert all(cell.status != "unread" and cell.read for cell in read)
    assert all(cell.value is None for cell in published_figures().cells if cell.status == "unread")
    assert all((cell.ours is None) == bool(cell.none) for cell in published_figures().cells)


@pytest.mark.parametrize(
    ("says", "instead", "why"),
    [
        ("status: excerpt", "status: unread", "an unread source has no figures"),
        ("status: excerpt", "status: seen", "status must be one of opened, excerpt, unread"),
        ("paper: he2018", "paper: she2018", "paper must be one of lewis2017"),
        ("none: needs people,", "none: needs people, ours: rl,", "either our counterpart"),
    ],
)
def test_wrong_entries_are_refused(says, instead, why):
    text = FIGURES_FILE.read_text(encoding="utf-8")
    assert says in text
    with pytest.raises(InputError, match=why):
        parse_figures(text.replace(says, instead, 1))


def test_own_figures_in_the_table():
    rows = comparison([found(7.0, 7.2)])
    known = next(row for row in rows if row.startswith("| RL | LIKELIHOOD | points |"))
    assert "| 7.1 | excerpt b |" in known and "| 7.10 (5.83..8.37) | 2 seeds, 20 games |" in known  # t = 12.71
    assert "; b: quoted in" in next(row for row in rows if row.startswith("Read in: a: "))
    unread = next(row for row in rows if row.startswith("| RL | LIKELIHOOD | deals, % |"))
    assert "| - | unread | 90.00 (90.00..90.00) |" in unread and "| those of today | over |" in "\n".join(rows)
    people = next(row for row in rows if row.startswith("| people | people | deals, %"))
    assert "77.91" in people  # of the published dialogues, whoever else was measured


def test_missing_own_figure():
    by_measure = {cell.measure: cell for cell in published_figures().cells if cell.ours == "rollouts"}
    assert own_figure(by_measure["points"], found(7.0)) is None and own_figure(by_measure["points"], None) is None


def test_reproduction_section():
    near = section_markdown(
        reproduction_section(found(6.9, 7.1))
    )  # and 4.0 of the other's: within 0.4 of 7.1 and of 4.2
    assert "| rl | 2 | -0.10 (-1.37..1.17) | -0.20 (-0.20..-0.20) | yes |" in near
    assert "at or above 7.1 points: none." in near
    above = section_markdown(reproduction_section(found(8.0)))
    assert "| no |" in above and "points: rl after 0 games." in above


def test_results_round_trip():
    again = parse_published(published_lines(found(7.0, 7.2)).splitlines())
    assert again == found(7.0, 7.2)
    for wrong in (["{}"], ["no"], []):
        with pytest.raises(InputError, match="make them again"):
            parse_published(wrong)


def test_rows_have_date_and_versions():
    now = provenance_now("numpy", "torch")
    assert date.fromisoformat(now["date"])
    assert set(now["versions"]) == {"dond-marl", "commit", "python", "numpy", "torch"}
    (row,) = found(7.0).rows
    dated = PublishedResults({}, [row._replace(**now)])
    line = published_lines(dated).splitlines()[1]
    assert (
        json.loads(line)["versions"]["torch"] == torch.__version__
        and parse_published(['{"settings": {}}', line]) == dated
    )
    older = {name: value for name, value in json.loads(line).items() if name not in now}
    assert row_from_json(older).date is None is row_from_json(older).versions


def test_goal_learning_is_deterministic():
    first = PolicyNetwork(NetworkShape(hidden=(8,)), seed=0)
    game, training = GameSection(), GoalTraining(algo="reinforce", lr=0.01, rollout=1, num_envs=32, games=320)

    def moved(seed: int, pull: float) -> float:
        network = train_goal_learner(training, game, pull, first, seed).network
        return sum(
            float((new - old).detach().abs().sum())
            for new, old in zip(network.parameters(), first.parameters(), strict=True)
        )

    assert moved(0, 0.0) == moved(0, 0.0) != moved(1, 0.0)
    curve = train_goal_learner(training, game, 0.0, first, 0, points=5).curve
    assert [step.games for step in curve] == [0, 64, 128, 192, 256] and torch.get_num_threads() == 1
    assert moved(0, 1000.0) != moved(0, 0.0)


def test_unknown_names_are_refused():
    path = ROOT / "experiments" / "configs" / "published.yaml"
    with pytest.raises(ConfigError, match="own must be one of likelihood, rl"):
        load_config(path, ["searches=[{name: both, own: nobody}]"], PublishedConfig)
    with pytest.raises(ConfigError, match="names must be distinct"):
        load_config(path, ["arms=[{name: likelihood}]"], PublishedConfig)


def test_table_command(tmp_path, capsys):
    (tmp_path / "ours.jsonl").write_text(published_lines(found(7.0, 7.2)))
    words = ("--results", tmp_path / "ours.jsonl", "--json", tmp_path / "all.json")
    assert dond("experiment", "published-table", *words) == 0
    assert "7.10" in capsys.readouterr().out
    document = json.loads((tmp_path / "all.json").read_text())
    assert len(document["cells"]) == len(published_figures().cells)


@pytest.mark.slow
def test_command_resumes(data_dir, tmp_path):
    words = ("experiment", "published", "--results", tmp_path / "results.jsonl")
    settings = [*TINY, f"data_dir={data_dir}", f"output_dir={tmp_path / 'kept'}"]
    assert dond(*words, overrides=settings) == 0
    first = (tmp_path / "results.jsonl").read_text()
    assert parse_published(first.splitlines()).players == ["likelihood", "rl", "both"]
    assert all(row.date and row.versions for row in parse_published(first.splitlines()).rows)
    [stored] = [path for path in (tmp_path / "kept").iterdir() if '"who": "both"' in path.read_text()]
    stored.unlink()
    assert dond(*words, overrides=settings) == 0
    assert (tmp_path / "results.jsonl").read_text() == first


def write_column(folder: Path, name: str, found: PublishedResults) -> Path:
    """A results file."""
    path = folder / name
    path.write_text(published_lines(found), encoding="utf-8")
    return path


def test_files_of_one_title_share_a_column(tmp_path):
    first = write_column(
        tmp_path, "a.jsonl", PublishedResults({"title": "ours"}, [PlayerRow("rl", 0, 10, {"points": 7.0}, [])])
    )
    more = {"points": 6.0, "left": 5.0, "joint": 5.5, "nash": 30.0, "deals": 0.9}
    second = write_column(
        tmp_path, "b.jsonl", PublishedResults({}, [PlayerRow("independent", seed, 8, more, []) for seed in (0, 1)])
    )
    columns = read_columns([first, second, RESULTS / "words.jsonl"])
    assert [column.settings.get("title") for column in columns] == ["ours", "ours, in words"]
    assert columns[0].players == ["rl", "independent"]
    rows = comparison(columns)
    indrl = next(row for row in rows if row.startswith("| IndRL | people | Nash product |"))
    assert "| - | unread | 30.00 (30.00..30.00) | 2 seeds, 16 games |" in indrl  # no column of words, nor its figure
    likelihood = next(row for row in rows if row.startswith("| LIKELIHOOD | LIKELIHOOD | points |"))
    stored = [json.loads(line) for line in (RESULTS / "words.jsonl").read_text().splitlines()]
    mean = np.mean([line["points"]["mean"] for line in stored if line.get("against") == "itself, in words"])
    assert f"| - | {mean:.2f} (" in likelihood


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "other.jsonl"
    path.write_text("no results\n", encoding="utf-8")
    with pytest.raises(InputError, match="published figures"):
        read_columns([path])


def test_openspiel_example_has_counterparts():
    cells = {cell.ours: cell for cell in published_figures().cells if cell.paper == "openspiel"}
    assert set(cells) == {"people", "nbs_is_mcts", "nbs_uniform", "nbs_full_information"}
    people = own_figure(cells["people"], None)
    assert people is not None and people.estimate.mean == pytest.approx(33.84, abs=0.01)
    found = PublishedResults({}, [PlayerRow("nbs_uniform", seed, 5, {"nash": 2.0 + seed}, []) for seed in range(2)])
    ours = own_figure(cells["nbs_uniform"], found)
    assert ours is not None and ours.estimate.mean == 2.5 and own_figure(cells["nbs_is_mcts"], found) is None


@pytest.mark.parametrize("name", ["self_taught.jsonl", "nash_products.jsonl"])
def test_stored_products_are_of_both_mean_points(name):
    found = parse_published((RESULTS / name).read_text(encoding="utf-8").splitlines())
    for row in found.rows:
        assert row.measures["nash"] == pytest.approx(row.measures["points"] * row.measures["left"], abs=0.01)
