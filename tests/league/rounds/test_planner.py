"""Plans of rounds: roles, splits, stages, snapshots, oracles and costs, from a whole run and from the functions."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dond_marl.occupants import Spec, parse_spec
from dond_marl.scenarios.sources import Scenarios, lewis_space
from dond_marl.statistics import points_of_ten
from league.ledger.ledger import Ledger
from league.play.values import FACTS, Entrant, LearnerState, Member, SeatOrderResult
from league.rounds.dry_run import estimate, snapshots_at_most
from league.rounds.opponents import meetings_of
from league.rounds.planner import (
    gate_pool,
    members_of,
    pairs_of,
    plan_round,
    rounds_of_practice,
    stage_end,
    stage_now,
)
from league.rounds.snapshots import end_of_round
from league.settings.read import Config, ConfigError, parse
from league.standings.history import History, history_of, oracles_of
from partners.rosters import TRAIN, roster
from tests.killing import run
from tests.loopback import Service, completion

ROOT = Path(__file__).resolve().parents[3]
SMALL = "hidden: [16], rollout: 2, num_envs: 32, minibatch: 64, epochs: 1, lr: 3.0e-3, decisions: 100"
SETTINGS = f"""
env: {{scenarios: lewis, split: train, max_turns: 3}}
league: {{seed: 3, rounds: 7, block_size: 16, evaluate: false}}
members: [heuristic, random]
gate: [conceder]
heldout: [tough]
learners:
  - {{name: main, {SMALL}, snapshot_every: 2, gate: {{timeout: 3}}}}
  - {{name: exploiter, role: main_exploiter, {SMALL}, snapshot_every: 2, reset: 1.0, reward: spite(weight=1)}}
  - {{name: scout, role: league_exploiter, algo: reinforce, {SMALL}, snapshot_every: 3, reset: 0.5}}
stages:
  - {{name: short, rounds: 2, env: {{max_turns: 2, scenarios: uniform}}, learners: {{scout: {{learns: false}}}}}}
  - {{name: shown, rounds: 3, until: {{at_least: 0, games: 10}}, env: {{reveal_partner_utilities: true}},
     hints: {{mode: random, cadence_k: 2}}}}
  - {{name: rest}}
logging: {{output_dir: "FOLDER"}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The folder of a finished run."""
    folder = tmp_path_factory.mktemp("plan")
    (folder / "league.yaml").write_text(SETTINGS.replace("FOLDER", str(folder / "runs")))
    done = run("--config", folder / "league.yaml")
    assert done.returncode == 0, done.stderr
    return folder / "runs" / "0001"


@pytest.fixture
def ledger(folder):
    with Ledger(folder / "ledger.sqlite") as ledger:
        yield ledger


def practiced(ledger: Ledger, number: int) -> dict[str, dict[str, float]]:
    """Probabilities of each learner's opponents in the practice of a round."""
    meetings: dict[str, dict[str, float]] = {}
    for _, kind, member, opponent, probability, reason in ledger.meetings(number):
        assert reason
        if kind == "train":
            meetings.setdefault(member, {})[opponent] = probability
    return meetings


def test_splits_in_practice_and_matches(ledger):
    assert {m.name: m.split for m in ledger.members() if m.split != "train"} == {"conceder": "gate", "tough": "heldout"}
    played = {name for number in range(8) for leg in ledger.legs(number) for name in leg.seats}
    assert "conceder" in played and "tough" not in played
    for number in range(8):
        for meetings in practiced(ledger, number).values():
            assert not {"conceder", "tough"} & meetings.keys() and abs(sum(meetings.values()) - 1) < 1e-9
            assert all(0 < probability <= 1 for probability in meetings.values())


def test_main_exploiter_opponents(ledger):
    meetings = {name for number in range(8) for name in practiced(ledger, number).get("exploiter", {})}
    assert "main" in meetings and all(name.startswith("main") for name in meetings)


def test_snapshot_before_reset(ledger):
    members = {member.name: member for member in ledger.members()}
    taken = [
        d for number in range(8) for d in ledger.decisions(number) if d.kind == "reset" and d.subject == "exploiter"
    ]
    assert len(taken) == 3 and all(decision.taken for decision in taken)
    first = ledger.states(-1)["exploiter"]
    for life, number in enumerate((1, 3, 5), start=1):
        snapshot = members[f"exploiter@{number + 1}"]
        assert (snapshot.parent, snapshot.born, snapshot.role) == ("exploiter", number + 1, "snapshot")
        assert snapshot.blob not in {first.blob, ledger.states(number - 1)["exploiter"].blob}  # what it had become
        assert ledger.states(number)["exploiter"] == first._replace(life=life)


def test_gated_snapshot_is_the_tested_version(ledger):
    members = {member.name: member for member in ledger.members()}
    judged = {n: d for n in range(8) for d in ledger.decisions(n) if (d.kind, d.subject) == ("snapshot", "main")}
    assert judged[1].taken and judged[1].reason == "its first"
    later = {number: decision for number, decision in judged.items() if number > 1}
    assert later and all("test" in decision.reason for decision in later.values())
    for number, decision in later.items():
        snapshot = members.get(f"main@{number + 1}")
        assert (snapshot is not None) == decision.taken
        if snapshot is not None:
            assert snapshot.blob == ledger.states(number - 1)["main"].blob
    born = sorted(member.born for member in members.values() if member.parent == "main")
    assert all(later - earlier <= 3 for earlier, later in pairwise(born))  # the gate's time-out


def test_gate_compares_points_by_seat_and_counts_its_tests(ledger):
    config, tests = ledger.config(), 0
    every = next(learner.snapshot_every for learner in config.learners if learner.name == "main")
    for number in range(2, 8):
        members = [member for member in ledger.members() if member.born <= number]
        last = [member for member in members if member.parent == "main"][-1]
        pool = ledger.scenarios(number).pool_values
        points = {leg.seats: points_of_ten(leg.facts["scores"], pool).mean(axis=0) for leg in ledger.legs(number)}
        for decision in ledger.decisions(number):
            if (decision.kind, decision.subject) != ("snapshot", "main"):
                continue
            more = []
            for opponent in (members[i].name for i in gate_pool(config, members)):
                more.append(points["main", opponent][0] - points[last.name, opponent][0])
                more.append(points[opponent, "main"][1] - points[opponent, last.name][1])
            assert f"{np.mean(more):+.2f} points of ten" in decision.reason
            assert f"test {number + 2 - last.born - every})" in decision.reason
            tests += 1
    assert tests == 2


def test_stages_end_with_reasons(ledger):
    assert [ledger.stage(number) for number in range(8)] == [0, 0, 1, 2, 2, 2, 2, 2]
    ends = {number: d for number in range(8) for d in ledger.decisions(number) if d.kind == "stage"}
    assert {number: decision.subject for number, decision in ends.items()} == {1: "short", 2: "shown"}
    assert "2 rounds" in ends[1].reason and "points of ten" in ends[2].reason
    assert "scout" not in practiced(ledger, 1) and "scout" in practiced(ledger, 2)
    assert practiced(ledger, 7) == {}  # the last round only measures


def test_features_cover_all_stages(ledger, folder):
    from league.play.blobs import read_blob

    shape = read_blob(folder / "blobs", ledger.states(-1)["main"].blob).network().shape
    assert (shape.max_turns, shape.partner_utilities, shape.hints) == (3, True, True)


def test_history_from_the_ledger(ledger):
    config = ledger.config()
    whole = history_of(ledger, config)
    again = History(ledger.members(), config.league.decay)
    for number in range(ledger.next_round):
        if number:
            again.add_members(member for member in ledger.members() if member.born == number)
        legs = list(ledger.legs(number))
        again.add_round(ledger.stage(number), ledger.scenarios(number), legs, [], measured=number == 7)
    assert again.stages == whole.stages and again.members == whole.members
    for mine, other in zip(again.cross.payoffs(), whole.cross.payoffs(), strict=True):
        np.testing.assert_array_equal(mine, other)
    # What learners scored before their last practice no longer counts; what never changes counts for good.
    assert whole.cross.cell("main", "heuristic", 0.95).n == 2 * 16
    assert whole.cross.cell("heuristic", "random", 0.95).n == 8 * 2 * 16


def test_explain_round(folder):
    done = run("explain", "--run", folder, "--round", "4")
    assert done.returncode == 0, done.stderr
    for message in ("stage rest", "regret", "self-play", "floor", "gate"):
        assert message in done.stdout, done.stdout
    assert "round 9" in run("explain", "--run", folder, "--round", "9").stderr
    assert run("explain", "--run", folder.parent, "--round", "4").stdout == done.stdout
    assert run("explain", "--run", folder / "blobs", "--round", "1").returncode == 2


def test_dry_run_prints_the_plan(tmp_path):
    (tmp_path / "league.yaml").write_text(SETTINGS.replace("FOLDER", str(tmp_path / "runs")))
    done = run("--config", tmp_path / "league.yaml", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "tough" in done.stdout
    assert "stage 2: shown: reveal_partner_utilities True" in done.stdout
    assert not (tmp_path / "runs").exists()


def test_dry_run_counts_partial_learners():
    """Of eight rounds the first learner practices in the last five, the second in the first three."""
    config = league_of(
        """league: {rounds: 8}
members: [heuristic]
learners:
  - {name: last, decisions: 300, snapshot_every: 0}
  - {name: early, decisions: 100, snapshot_every: 2, keeps_first: true}
stages:
  - {name: a, rounds: 3, learners: {last: {learns: false}}}
  - {name: b, learners: {early: {learns: false}}}"""
    )
    assert snapshots_at_most(config) == 1 + 3
    assert estimate(config)[0].decisions == 5 * 300 + 3 * 100


def test_dry_run_makes_no_queries():
    service = Service(lambda heard, number: completion())
    spec = f"{{kind: llm, provider: openai, model: any, base_url: '{service.url}', name: paid}}"
    try:
        size, first = estimate(league_of(f"league: {{block_size: 2}}\nmembers: [{spec}, heuristic]"))
        matches = [task for task in first.matches if "paid" in (seat.name for seat in task.members)]
        assert size.matches and matches and not service.heard
        (query,) = size.queries
        played = 2 * 2 * len(matches) * 10  # two scenarios in both seats, in each round
        assert query.name == "paid" and query.games == played and played <= query.expected <= query.bound == 5 * played
        assert query.to_model and "at 1 second a query" in str(query)
    finally:
        service.close()


@pytest.mark.parametrize(
    "asks",
    [
        "stages: [{name: a, hints: {mode: llm, provider: openai, models: {openai: any}, options: {base_url: 'URL'}}}]",
        """training: {reward: "llm_judge(style='competitive', provider='openai', model='any', base_url='URL')"}""",
    ],
    ids=["hints", "judge"],
)
def test_dry_run_of_practice_makes_no_queries(asks, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    service = Service(lambda heard, number: completion())
    learners = f"members: [heuristic]\nlearners: [{{name: main, {SMALL}}}]\n"
    try:
        size, _ = estimate(league_of(learners + asks.replace("URL", service.url)))
        assert not service.heard
        (query,) = size.queries
        assert query.name == "a language model" and "main" in query.role
        assert query.expected <= query.bound and query.games <= size.decisions
    finally:
        service.close()


# --- The rules by themselves ----------------------------------------------------------------------------------------


def played(pairs: list[tuple[str, str, int]], scenarios: Scenarios) -> list[SeatOrderResult]:
    """Legs in which everybody gets what the pair says, points, and the other side one."""
    legs = []
    for first, second, points in pairs:
        for seats, own in (((first, second), 0), ((second, first), 1)):
            facts = np.zeros(scenarios.size, dtype=FACTS)
            facts["scores"][:, own], facts["scores"][:, 1 - own] = points, 1
            facts["deal"] = 1
            legs.append(SeatOrderResult(seats, facts))
    return legs


def few(size: int) -> Scenarios:
    """The first scenarios of the legal space."""
    whole = lewis_space()
    return Scenarios(whole.counts[:size], whole.utilities[:size], whole.prior)


def league_of(text: str) -> Config:
    return parse("env: {scenarios: lewis}\n" + text)


def seats_of(history: History) -> dict[str, Entrant]:
    return {member.name: Entrant(member, "blob" if member.spec is None else None) for member in history.members}


@given(size=st.integers(1, 120), seed=st.integers(0, 99))
def test_pairs_are_unique_and_within_budget(size, seed):
    config = league_of(
        "members: [heuristic]\nleague: {opponents: 7, pairs: 11}\nlearners: [{name: main, gate: {}}, {name: other}]"
    )
    fixed = [Member(f"m{number}", Spec("random")) for number in range(size)]
    past = [Member(f"main@{born}", None, "snapshot", parent="main", born=0, blob="b") for born in range(seed % 5)]
    history = History((*members_of(config)[:2], *fixed, *past), 0.5)
    pairs = pairs_of(config, history)
    assert len({frozenset(pair[:2]) for pair in pairs}) == len(pairs)
    assert sum(reason.startswith("coverage") for *_, reason in pairs) <= 11
    assert sum("main" in pair[:2] and pair[2].startswith("a learner") for pair in pairs) <= 2 * 7
    meetings = {name for pair in pairs for name in pair[:2] if "main" in pair[:2]}
    assert {history.members[place].name for place in gate_pool(config, history.members)} <= meetings


def test_gate_pool():
    def gate_of(text: str) -> tuple[list[str], int]:
        config = league_of(text + "\nlearners: [{name: main, gate: {}}]")
        members = members_of(config)
        return [members[place].name for place in gate_pool(config, members)], len(members)

    assert gate_of("members: [heuristic, tough, expert]\ngate: [tough, boulware]") == (["tough", "boulware"], 5)
    assert gate_of("members: [heuristic, tough, expert]") == (["heuristic", "tough"], 4)
    assert gate_of("members: [expert, 'linear(floor=0.9)']") == (["expert", "linear(floor=0.9)"], 3)
    whole = gate_of("members: [heuristic, expert]\ngate: zoo")
    assert whole[0] == ["heuristic", *(name for name in roster(TRAIN) if name != "heuristic")] and whole[1] == 26


def test_fixed_members_play_fewest_games_first():
    config = league_of("members: [heuristic, random, tough]\nleague: {pairs: 2}")
    history = History(members_of(config), 0.5)
    scenarios = few(4)
    history.add_round(0, scenarios, played([("heuristic", "random", 5), ("heuristic", "heuristic", 5)], scenarios), [])
    assert [pair[:2] for pair in pairs_of(config, history)] == [("heuristic", "tough"), ("random", "random")]


ORACLE = (
    "members: [heuristic, random]\nleague: {floor: 1.0e-9, rounds: 9, meta_solver: SOLVER}\n"
    "learners: [{name: oracle, matchmaking: meta_mixture, snapshot_every: 2}]"
)


def oracle_of(solver: str) -> tuple[Config, History]:
    """An oracle whose snapshot, of round 3, has played two fixed members in round 4; the seats' points differ."""
    config = league_of(ORACLE.replace("SOLVER", solver))
    history = History(members_of(config), 0.5, oracles_of(config))
    for _ in range(3):
        history.add_round(0, few(4), [], [])
    history.add_members([Member("oracle@3", None, "snapshot", parent="oracle", born=3, blob="kept")])
    return config, history


def probabilities_by_seat(config: Config, history: History) -> dict[str, tuple[float, float]]:
    meetings = meetings_of(config, config.learners[0], history, seats_of(history))
    return {m.opponent.name: m.by_seat or (m.probability, m.probability) for m in meetings}


# What who opens gets against who answers: a game in which seat_0 is best as heuristic whatever seat_1 does, and seat_1
# then as random; points of the other seat are ten less these, for the scenarios are worth ten to both.
OPENING = {"heuristic": (7, 6, 8), "random": (3, 1, 2), "oracle@3": (2, 5, 4)}


def first_matches(opening: dict[str, tuple[int, ...]]) -> list[SeatOrderResult]:
    legs = []
    for own, row in opening.items():
        for other, points in zip(opening, row, strict=True):
            facts = np.zeros(4, dtype=FACTS)
            facts["scores"], facts["deal"] = (points, 10 - points), 1
            legs.append(SeatOrderResult((own, other), facts))
    return legs


@pytest.mark.slow
def test_oracle_target_mixture_is_fixed():
    """The game's one equilibrium is heuristic opening and random answering: that is who sits opposite, seat by seat."""
    for solver in ("replicator", "max_gini", "max_gini_ce", "max_welfare", "nash_bargaining"):
        config, history = oracle_of(solver)
        before = probabilities_by_seat(config, history)
        assert before["heuristic"] == before["random"] == pytest.approx((0.5, 0.5)), "no snapshot has played yet"
        history.add_round(0, few(4), first_matches(OPENING), [])
        meetings = probabilities_by_seat(config, history)
        assert meetings["heuristic"] == pytest.approx((1, 0), abs=0.01) and meetings["random"] == pytest.approx(
            (0, 1), abs=0.01
        )
        history.add_round(0, few(4), first_matches(dict.fromkeys(OPENING, (0, 9, 9))), [])
        assert probabilities_by_seat(config, history) == meetings, "its life is not over"


def test_oracle_waits_for_matches_of_its_snapshot():
    config, history = oracle_of("replicator")
    states = {"oracle": LearnerState("blob", 0, 0, 0)}
    assert not plan_round(config, history, states).training
    history.add_round(0, few(4), first_matches(OPENING), [])
    (task,) = plan_round(config, history, states).training
    assert rounds_of_practice(config, config.learners[0]) == 5  # of nine; it waits in the third, fifth, seventh, ninth
    assert task.total_decisions == 5 * config.learners[0].decisions


@pytest.mark.parametrize("every", [0, 1])
def test_oracle_needs_snapshot_every(every):
    with pytest.raises(ConfigError, match=r"learners\[0\].snapshot_every"):
        league_of(ORACLE.replace("SOLVER", "uniform").replace("snapshot_every: 2", f"snapshot_every: {every}"))


def test_first_weights_as_snapshots():
    config = league_of(
        "members: [heuristic]\nleague: {rounds: 8, opponents: 1, pairs: 0}\n"
        "learners: [{name: ego, snapshot_every: 0, matchmaking: skill_levels},"
        " {name: seed, snapshot_every: 2, keeps_first: true, matchmaking: self_play}]\n"
        "stages: [{name: a, rounds: 5, learners: {ego: {learns: false}}}, {name: b, learners: {seed: {learns: false}}}]"
    )
    history, blob = History(members_of(config), 0.5), "0"
    for number in range(7):
        before = {name: LearnerState(blob, 0, 0, 0) for name in ("ego", "seed")}
        blob = str(min(number + 1, 5))  # it practices in five rounds
        after = {name: LearnerState(blob, 0, 0, 0) for name in ("ego", "seed")}
        first = {name: LearnerState("0", 0, 0, 0) for name in ("ego", "seed")}
        with_itself = [pair for pair in pairs_of(config, history) if "how skilled" in pair[2]]
        new = [member.name for member in history.members if member.born == number > 0]
        assert [pair[:2] for pair in with_itself] == [(name, name) for name in new]
        history.add_round(0, few(4), [], [])
        history.add_members(end_of_round(config, history, before, after, first, few(4), []).born)
    stored = {member.name: member.blob for member in history.members if member.role == "snapshot"}
    assert stored == {"seed@0": "0", "seed@3": "3", "seed@5": "5"}
    assert [rounds_of_practice(config, learner) for learner in config.learners] == [3, 5]


def test_learner_whose_other_members_are_expensive_practises_with_itself():
    config = league_of("members: [heuristic]\nlearners: [{name: x, role: league_exploiter}]")
    for fixed, expected in (("llm(provider=hf)", "x"), ("random", "m")):
        history = History((members_of(config)[0], Member("m", parse_spec(fixed))), 0.5)
        (meeting,) = meetings_of(config, config.learners[0], history, seats_of(history))
        assert (meeting.opponent.name, meeting.probability) == (expected, pytest.approx(1))


def test_stage_time_out():
    config = league_of(
        "members: [heuristic]\nlearners: [{name: main}]\n"
        "stages: [{name: a, rounds: 3, until: {at_least: 9, games: 1}}, {name: b, until: {at_least: 2, games: 31}},"
        " {name: c}]"
    )
    history, scenarios = History(members_of(config), 0.5), few(8)
    for number, (points, stage, over) in enumerate(
        ((3, 0, None), (3, 0, None), (3, 0, "time-out"), (3, 1, None), (3, 1, "reached"))
    ):
        assert stage_now(config, history) == stage, number
        history.add_round(stage, scenarios, played([("main", "heuristic", points)], scenarios), [])
        decision = stage_end(config, history)
        assert (decision is None) == (over is None), number
        assert over != "time-out" or "time-out after 3 rounds" in decision.reason
    assert stage_now(config, history) == 2


def test_stage_rules_apply_to_practice_only():
    config = league_of(
        "members: [heuristic]\nlearners: [{name: main, decisions: 50}]\n"
        "stages: [{name: a, rounds: 1, env: {max_turns: 3, disagree: rejects, scenarios: uniform},"
        " learners: {main: {decisions: 70, reward: svo(angle=45)}}}, {name: b}]"
    )
    plan = plan_round(config, History(members_of(config), 0.5), {"main": LearnerState("blob", 0, 0, 0)})
    (task,) = plan.training
    assert (task.env.max_turns, task.env.disagree, task.env.scenarios) == (3, "rejects", "uniform")
    assert (task.learner.decisions, task.learner.reward) == (70, "svo(angle=45)")
    assert all(match.env == config.env for match in plan.matches) and config.env.max_turns == 10


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stages: [{name: a}, {name: b}]", r"stages\[0\]: it never ends"),
        ("stages: [{name: a, learners: {ann: {}}}]", "no learner is called ann; there are main"),
        ("stages: [{name: a, env: {scenarios: uniform, split: train}}]", "split"),
        ("gate: [micro, micro]", "micro"),
        ("heldout: [{kind: tough, name: main}]", "the name 'main' is taken"),
        *(
            (f"learners: [{{name: main, matchmaking: {wrong}}}]", message)
            for wrong, message in (
                ("{}", "a rule, or rules"),
                ("best", "a branch is"),
                ("regret among friends", "groups: all, fixed"),
                ("{regret: 0}", "above 0"),
            )
        ),
    ],
)
def test_inconsistent_settings(text, message):
    learners = "" if text.startswith("learners") else "learners: [{name: main}]\n"
    with pytest.raises(ConfigError, match=message):
        league_of(f"members: [heuristic]\n{learners}{text}")


def test_learner_initialised_from_the_expert(tmp_path):
    expert = ROOT / "partners" / "experts" / "ppo.json"
    settings = SMALL.replace("hidden: [16]", "hidden: [128, 128], sorted_items: true")
    (tmp_path / "league.yaml").write_text(
        f"env: {{scenarios: lewis, split: train}}\nleague: {{rounds: 2, block_size: 16, evaluate: false}}\n"
        f"members: [heuristic]\nlearners: [{{name: main, {settings}, init_from: expert, kl: 0.5}}]\n"
        f"logging: {{output_dir: {tmp_path / 'runs'}}}\n"
    )
    done = run("--config", tmp_path / "league.yaml")
    assert done.returncode == 0, done.stderr
    from league.play.blobs import read_blob
    from partners.network.checkpoint import load_checkpoint

    shipped = load_checkpoint(expert).network().state_dict()
    with Ledger(tmp_path / "runs" / "0001" / "ledger.sqlite") as ledger:
        blobs = [ledger.states(number)["main"].blob for number in (-1, 1)]
    first, last = (read_blob(tmp_path / "runs" / "0001" / "blobs", blob).tensors for blob in blobs)
    for name, value in shipped.items():
        assert first[f"network.{name}"].equal(value) and last[f"reference.{name}"].equal(value)
    assert not last["network.head.weight"].equal(shipped["head.weight"])


def test_costly_members_play_most_informative_matches():
    config = league_of(
        "members: [heuristic, {kind: human, interface: 'dond.table.game:Terminal'}, random]\n"
        "league: {costly: 1, block_size: 2}\nlearners: [{name: main, matchmaking: uniform among all}]"
    )
    history, scenarios = History(members_of(config), 0.5), few(2)
    person = config.members[1].name
    meetings = [pair for pair in pairs_of(config, history) if person in pair[:2]]
    assert len(meetings) == 1 and meetings[0][2].startswith("information:")
    history.add_round(0, scenarios, played([(person, "main", 5), (person, "heuristic", 5)], scenarios), [])
    (pair,) = [pair for pair in pairs_of(config, history) if person in pair[:2]]
    assert "random" in pair[:2]  # with the fewest games
    practice = meetings_of(config, config.learners[0], history, seats_of(history))
    assert {meeting.opponent.name for meeting in practice} == {"main", "heuristic", "random"}


def test_share_of_practice_with_generated_partners():
    text = (
        "members: [heuristic, random, generated, generated(programs=256)]\n"
        "learners: [{name: main, matchmaking: {uniform among generated: 0.6, self_play: 0.4}}]\n"
    )
    config = league_of(text)
    history = History(members_of(config), 0.5, oracles_of(config))
    meetings = {
        m.opponent.name: m.probability for m in meetings_of(config, config.learners[0], history, seats_of(history))
    }
    assert meetings["generated"] == pytest.approx(0.3, abs=0.03) == meetings["generated(programs=256)"]
    assert meetings["main"] == pytest.approx(0.4, abs=0.04) and meetings["heuristic"] < 0.03
