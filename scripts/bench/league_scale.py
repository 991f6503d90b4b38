"""What a league of hundreds of members asks of one process between its rounds: folds, a meta-game, a snapshot."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from dond_marl.randomness import generator
from league.rounds.planner import block_of, first_states, members_of, plan_round
from league.settings.read import load_config
from league.standings.history import History
from league.standings.meta_game import Game, max_welfare_cce, nash_bargaining_cce
from league.tasks.blobs import read_blob, read_content, write_blob
from league.tasks.match import play
from league.tasks.values import Leg, Member, Place, block_scenarios
from scripts.bench.league_path import DEFAULT
from scripts.bench.report import Row, seconds

MEMBERS = 200
LEARNERS, OPPONENTS = 16, 64  # each learner meets so many in a round, in both seat orders
SQUARE = 50  # members by members of the meta-game
MILLI = 1e3


def rows(repeats: int, _seconds: float) -> Iterator[Row]:
    """Four limits; medians."""
    config = load_config(DEFAULT, [])
    scenarios = block_scenarios(config.env, config.league.seed, block_of(config, 0))
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        states = first_states(config, place.blobs)
        content = read_content(place.blobs, states[config.learners[0].name].blob)
        first = plan_round(config, History(members_of(config), config.league.decay), states)
        facts = play(first.matches[0], place).legs[0].facts
        names = [f"member {number}" for number in range(MEMBERS)]
        members = [Member(name, None, "main" if place < LEARNERS else "fixed") for place, name in enumerate(names)]
        history = History(members, config.league.decay)
        pairs = [(a, (a + b) % MEMBERS) for a in range(LEARNERS) for b in range(1, OPPONENTS + 1)]
        legs = [Leg((names[x], names[y]), facts) for a, b in pairs for x, y in ((a, b), (b, a))]
        yield _limit(
            f"fold of a round, {MEMBERS} members",
            f"{LEARNERS} learners met {OPPONENTS} members each in both seat orders: {len(legs):,} legs of {facts.size} "
            "games into payoffs, ratings' sums and learning curves",
            50,
            lambda: history.add_round(0, scenarios, legs, ()),
            repeats,
        )
        number = iter(range(10_000))

        def snapshot() -> None:
            """Into another folder each time: a blob that is there already is not written again."""
            name = write_blob(Path(folder) / f"copy {next(number)}", content)
            read_blob(place.blobs, name).network()

        yield _limit(
            "a snapshot",
            f"the default main's {len(content) / MILLI:.0f} kB to the disk, synchronized, read back as a network",
            100,
            snapshot,
            repeats,
        )
    draws = generator(0, "the benchmark's meta-game")
    tables = [Game(*draws.uniform(0, 10, (2, SQUARE, SQUARE))) for _ in range(repeats + 1)]
    workload = f"{SQUARE} x {SQUARE} members, payoffs of both seats drawn uniformly, another game each time"
    for what, solve in (("max-welfare CCE", max_welfare_cce), ("Nash-bargaining CCE", nash_bargaining_cce)):
        games = iter(tables)
        yield _limit(what, workload, 500, lambda: solve(next(games)), repeats)  # noqa: B023  # used up before the next


def _limit(what: str, workload: str, milliseconds: float, work: Callable[[], object], repeats: int) -> Row:
    work()  # warm up
    taken = [MILLI * second for second in seconds(work, repeats)]
    median = statistics.median(taken)
    workload = f"{workload}; {min(taken):.1f} to {max(taken):.1f}"
    return Row(what, workload, "ms", 1, median, bar=f"<= {milliseconds:g} ms", reached=median <= milliseconds)
