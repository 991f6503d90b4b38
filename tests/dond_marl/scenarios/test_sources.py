"""Where the table comes from: the exact sizes, the paper's test set, fair passes, and what is refused."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dond_marl import DealVectorEnv, NegotiationEnv
from dond_marl.errors import InputError
from dond_marl.game import MAX_VALUE, Scenario
from dond_marl.scenarios.data import load_dialogue_scenarios, load_self_play
from dond_marl.scenarios.haggling import haggling_scenarios, read_seeds
from dond_marl.scenarios.own_files import COLUMNS
from dond_marl.scenarios.sources import ScenarioError, Scenarios, lewis_space, open_source, value_vectors


def rows(scenarios: Scenarios) -> list[bytes]:
    """One key per scenario, in order."""
    table = np.concatenate([scenarios.counts, scenarios.utilities.reshape(-1, 6)], axis=1)
    return [row.tobytes() for row in table.astype(np.int8)]


def test_size_of_the_legal_space():
    space = lewis_space()
    assert space.size == len(set(rows(space))) == 5295
    assert rows(space) == sorted(rows(space)), "the enumeration is in lexicographic order"
    assert set(rows(space.swap_seats())) == set(rows(space)), "swapping the seats stays inside"


def test_legal_space_by_brute_force_over_one_pool():
    # 1 book, 2 hats, 3 balls: every pair of value vectors worth 10, each item valued by somebody, one by both.
    space, legal = lewis_space(), set()
    vectors = [v for v in itertools.product(range(11), repeat=3) if v[0] + 2 * v[1] + 3 * v[2] == 10]
    for a, b in itertools.product(vectors, repeat=2):
        if all(x or y for x, y in zip(a, b, strict=True)) and any(x and y for x, y in zip(a, b, strict=True)):
            legal.add((a, b))
    here = (space.counts == [1, 2, 3]).all(axis=1)
    assert {(tuple(a), tuple(b)) for a, b in space.utilities[here].tolist()} == legal
    assert set(space.counts.sum(axis=1).tolist()) == {5, 6, 7} and space.counts.min() == 1 and space.counts.max() == 4
    assert (space.pool_values == 10).all()


def test_paper_test_set_is_the_published_file_with_swaps(data_dir):
    published = Scenarios(*load_dialogue_scenarios("test", data_dir))
    both = set(rows(published)) | set(rows(published.swap_seats()))
    heldout = open_source("lewis", split="paper_test").table
    assert set(rows(heldout)) == both and heldout.size == len(both) == 392


def test_paper_test_set_is_not_in_self_play(data_dir):
    games = Scenarios(*load_self_play(data_dir))
    assert games.size == 4086
    heldout = set(rows(open_source("lewis", split="paper_test").table))
    assert not heldout & (set(rows(games)) | set(rows(games.swap_seats())))
    assert set(rows(games)) <= set(rows(lewis_space())), "all of them are legal"


def test_training_is_the_default_split():
    assert open_source("lewis").split == "train" and open_source("lewis").table.size == 3084


def test_published_files_by_name_and_by_use_dataset(data_dir):
    by_name = open_source("self_play", data_dir=data_dir)
    by_keys = open_source(use_dataset=True, dataset="self_play", data_dir=data_dir)
    assert rows(by_name.table) == rows(by_keys.table) and by_name.digest() == by_keys.digest()
    for split, size in (("train", 10095), ("val", 1087), ("test", 1052)):
        source = open_source("dialogues", split=split, data_dir=data_dir)
        assert source.table.size == size and source.label == f"dialogues, split {split}"
    assert open_source("dialogues", data_dir=data_dir).split == "train"


@pytest.mark.parametrize("split", ["train", "test", "paper_test", "all"])
def test_prior_does_not_name_the_split(split):
    assert open_source("lewis", split=split).prior == "lewis"


# --- Blocks ---------------------------------------------------------------------------------------------------------


def test_each_pass_holds_every_scenario_once():
    source = open_source("lewis", split="paper_test")
    for number in range(3):
        dealt = source.block(seed=7, start=392 * number, n=392)
        assert sorted(rows(dealt)) == sorted(rows(source.table))
    assert rows(source.block(7, 0, 392)) != rows(source.block(7, 392, 392)), "each pass has its own order"


@settings(max_examples=60)
@given(st.integers(0, 2**63 - 1), st.integers(0, 1500), st.lists(st.integers(1, 500), min_size=1, max_size=6))
def test_any_chunking_deals_the_same_sequence(seed, start, sizes):
    source = open_source("lewis", split="paper_test")
    whole = rows(source.block(seed, start, sum(sizes)))
    starts = itertools.accumulate(sizes, initial=start)
    chunks = [rows(source.block(seed, at, n)) for at, n in zip(starts, sizes, strict=False)]
    assert list(itertools.chain(*chunks)) == whole


@pytest.mark.parametrize("name", ["uniform", "lewis"])
def test_a_block_is_a_function_of_seed_and_start(name):
    source, again = open_source(name), open_source(name)
    assert rows(source.block(1, 64, 32)) == rows(again.block(1, 64, 32))
    assert rows(source.block(1, 64, 32)) != rows(source.block(2, 64, 32))
    assert rows(source.block(1, 64, 32)) != rows(source.block(1, 96, 32))


# --- The uniform source ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_count", [1, 4, 10])
def test_ranges_of_uniform_scenarios(max_count):
    drawn = open_source("uniform", max_count=max_count).draw(np.random.default_rng(3), 20_000)
    assert set(np.unique(drawn.counts)) == set(range(1, max_count + 1))
    assert set(np.unique(drawn.utilities)) == set(range(MAX_VALUE + 1))
    assert drawn.utilities.any(axis=2).all()
    assert drawn.pool_values.min() > 0 and drawn.pool_values.max() <= 3 * max_count * MAX_VALUE


def test_uniform_counts_and_values_are_equally_likely():
    drawn = open_source("uniform").draw(np.random.default_rng(4), 40_000)
    counts = np.bincount(drawn.counts.ravel(), minlength=5)[1:] / drawn.counts.size
    values = np.bincount(drawn.utilities.ravel(), minlength=11) / drawn.utilities.size
    assert abs(counts - 1 / 4).max() < 0.01
    assert abs(values - 1 / 11).max() < 0.01  # the redrawn all-zero vectors take less than 0.001 from the zeros


# --- Points budgets -------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(st.integers(1, 30), st.integers(1, 6), st.integers(0, 2**32))
def test_normalized_uniform_pools_are_worth_the_budget(budget, max_count, seed):
    drawn = open_source("uniform", normalize=True, points_budget=budget, max_count=max_count).draw(
        np.random.default_rng(seed), 64
    )
    assert (drawn.pool_values == budget).all()
    assert drawn.counts.min() >= 1 and drawn.counts.max() <= max_count


def test_normalized_uniform_draws_are_uniform():
    # max_count 1 and budget 2: one pool, six ways for each seat to value it 2 in all, so 36 scenarios.
    assert len(value_vectors((1, 1, 1), 2)) == 6
    drawn = open_source("uniform", normalize=True, points_budget=2, max_count=1).draw(np.random.default_rng(6), 36_000)
    _, often = np.unique(rows(drawn), return_counts=True)
    assert len(often) == 36 and often.min() > 850 and often.max() < 1150


def test_normalizing_the_legal_space_to_ten_changes_nothing(data_dir):
    assert open_source("lewis", normalize=True).table.size == 3084
    assert open_source("self_play", normalize=True, data_dir=data_dir).table.size == 4086


@pytest.mark.parametrize(
    "settings_",
    [
        {"scenarios": "lewis", "points_budget": 9},
        {"scenarios": "uniform", "points_budget": 121},
    ],
)
def test_budget_without_scenarios(settings_):
    with pytest.raises(ScenarioError, match=f"no scenario .* points_budget={settings_['points_budget']}"):
        open_source(**settings_, normalize=True)


# --- Bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings_", "complaint"),
    [
        ({"scenarios": "lewiss"}, "one of uniform, lewis, self_play, dialogues, or .* got 'lewiss'"),
        ({"use_dataset": True, "dataset": "selfplay"}, "one of self_play, dialogues; got 'selfplay'"),
        ({"use_dataset": True, "dataset": "dialogues", "scenarios": "lewis"}, "contradicts scenarios='lewis'"),
        ({"scenarios": "dialogues", "split": "heldout"}, "one of train, val, test; got 'heldout'"),
        ({"scenarios": "self_play", "split": "train"}, "no splits; got 'train'"),
        ({"max_count": 11}, r"max_count must be .*1\.\.10"),
        ({"scenarios": "lewis", "max_count": 3}, "more than max_count=3"),
        ({"normalize": True, "points_budget": "10"}, "points_budget must be"),
    ],
)
def test_invalid_source_settings(settings_, complaint):
    with pytest.raises(ScenarioError, match=complaint):
        open_source(**settings_)


def test_shared_tables_cannot_be_written_to(data_dir):
    for source in (open_source("lewis", split="all"), open_source("self_play", data_dir=data_dir)):
        with pytest.raises(ValueError, match="read-only"):
            source.table.counts[0, 0] = 9


# --- Files of one's own ---------------------------------------------------------------------------------------------

GAMES = [((1, 2, 2), ((4, 1, 2), (0, 4, 1))), ((3, 1, 1), ((1, 3, 4), (2, 2, 1)))]  # only the first is of lewis
COUNT = [{"count": list(counts), "value": list(values)} for counts, seats in GAMES for values in seats]
HUB_TALKS = [{"input": COUNT[k], "dialogue": "", "partner_input": COUNT[k + 1]} for k in (0, 2)]
LAYOUTS = {
    "own.jsonl": [{"counts": counts, "utilities": utilities} for counts, utilities in GAMES],
    "talks.jsonl": HUB_TALKS,
    "self_play.jsonl": [{"input": seat} for seat in COUNT],
}


def written(folder, name, games=GAMES):
    """A file of the games, in the layout that its name stands for."""
    path = folder / name
    if path.suffix == ".jsonl":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in LAYOUTS[name]))
    elif path.suffix == ".parquet":
        pytest.importorskip("pyarrow.parquet").write_table(
            pytest.importorskip("pyarrow").Table.from_pylist(HUB_TALKS), path
        )
    elif path.suffix == ".txt":
        path.write_text("".join(" ".join(",".join(map(str, part)) for part in (c, *u)) + "\n" for c, u in games))
    else:
        numbers = [",".join(map(str, (*counts, *first, *second))) for counts, (first, second) in games]
        path.write_text("\n".join([",".join(COLUMNS), *numbers]))
    return str(path)


@pytest.mark.parametrize("name", ["own.csv", *LAYOUTS, "hub.parquet", "bargaining_instances1000.txt"])
def test_every_layout_gives_the_same_scenarios(name, tmp_path):
    source = open_source(written(tmp_path, name))
    assert [source.table.scenario(row) for row in range(2)] == [Scenario(*game) for game in GAMES]
    assert (source.prior, source.label) == ("uniform", f"uniform, {name}")
    assert source.digest() == open_source(written(tmp_path, "own.csv")).digest()


def test_a_file_counts_as_the_part_that_it_is_of(tmp_path):
    assert open_source(written(tmp_path, "own.csv", GAMES[:1])).label == "lewis, own.csv"
    worth_nine = [((3, 1, 1), ((1, 3, 3), (2, 1, 2)))]
    assert open_source(written(tmp_path, "own.csv", worth_nine)).prior == "uniform(budget=9)"
    assert open_source(written(tmp_path, "own.csv"), normalize=True).table.size == 1


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("a.csv", "books,hats\n1,2\n", "row 2: .*'balls'"),
        ("a.txt", "1,2,2 4,1,2\n", "row 1"),
        ("a.jsonl", '{"counts": [1, 2, 11], "utilities": [[4, 1, 2], [0, 4, 1]]}\n', "row 1: .*11"),
        ("a.jsonl", '{"input": {"count": [1, 2, 2], "value": [4, 1, 2]}}\n', "row 1"),
        ("a.parquet", "PAR", "row 1"),
    ],
)
def test_a_bad_file_names_the_row(name, text, complaint, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=complaint):
        open_source(str(tmp_path / name))


def test_environments_deal_from_a_file(tmp_path):
    path = written(tmp_path, "own.csv")
    env = NegotiationEnv(scenarios=path)
    env.reset(seed=0)
    assert env.unwrapped.source.label == "uniform, own.csv"
    dealt = DealVectorEnv(64, scenarios=path).reset(seed=0)[0]["counts"]
    assert set(map(tuple, dealt.tolist())) == {game[0] for game in GAMES}


# -- The scenarios of the public haggling challenge from their seeds


PUBLISHED = {  # pool and both seats' values that the challenge's own generate.js makes of some seeds
    0: ((4, 1, 1), (0, 0, 10), (1, 3, 3)),
    1: ((4, 1, 1), (0, 8, 2), (2, 0, 2)),
    2018: ((2, 1, 1), (2, 5, 1), (0, 6, 4)),
    2**32 - 1: ((3, 2, 1), (0, 5, 0), (0, 2, 6)),
}


def test_seeds_give_the_published_scenarios():
    scenarios = haggling_scenarios(list(PUBLISHED))
    for row, (counts, first, second) in enumerate(PUBLISHED.values()):
        assert tuple(scenarios.counts[row]) == counts
        assert tuple(scenarios.utilities[row, 0]) == first
        assert tuple(scenarios.utilities[row, 1]) == second


def test_scenarios_follow_the_challenges_rules():
    scenarios = haggling_scenarios(range(2000))
    assert scenarios.counts.min() == 1
    assert set(np.unique(scenarios.counts.sum(axis=1))) == {3, 4, 5, 6}
    assert (scenarios.pool_values == 10).all()
    assert (scenarios.utilities[:, 0] != scenarios.utilities[:, 1]).any(axis=1).all()
    assert len(np.unique(scenarios.counts, axis=0)) == 20


def test_a_file_of_seeds(tmp_path):
    file = tmp_path / "seeds.txt"
    file.write_text("1958858442\n0\n", encoding="ascii")
    assert read_seeds(file) == [1958858442, 0]
    file.write_text("a scenario\n", encoding="ascii")
    with pytest.raises(InputError):
        read_seeds(file)
