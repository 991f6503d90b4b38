"""A league on 1 to 1,000 workers, as a table and as a figure: where it stops scaling, and what would have to change.

Two leagues are simulated. The one that is asked about keeps its size. The other grows with the workers, a learner for
each, and each learner leaves snapshots; it is simulated as the league is, and with changes: it is planned with a lag of
two rounds, what is common to all learners is worked out once per round, all practice takes as long, against at most
``MOST_MET`` others, ``TOGETHER`` matches are one task, and no more than ``MOST_MEMBERS`` take part, or all who learn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from league.display.tables import line
from league.experiments.scaling.simulation import ROUNDS, Costs, Load, Shape, alone, simulate

WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)
LINEAGE = 4  # members that a learner comes to: itself and three snapshots
MOST_MET, TOGETHER, MOST_MEMBERS = 64, 16, 512
MANY = 128  # workers; with more, fewer rounds are simulated
FEWER_ROUNDS = 4
KEPT, GROWN, CHANGED = "this league", "grown with the workers", "grown, and changed"
CHANGES = (
    f"planned two rounds behind, payoffs worked out once a round, practice of equal length and against {MOST_MET} at "
    f"most, {TOGETHER} matches a task, no more than {MOST_MEMBERS} members or as many as learn"
)


HEADS = (
    "workers", "s a round", "decisions/s", "cores' worth", "busy", "head", "planning", "handing out", "writing",
    "network", "staleness", "rows/s", "ledger",
)  # fmt: skip


def simulated(
    costs: Costs, shape: Shape, matches: tuple[int, int], workers: Sequence[int], tell: Callable[[str], None]
) -> dict[str, list[Load]]:
    """The loads of the three leagues by the number of workers; ``matches`` of a round: a learner's, and others."""
    loads: dict[str, list[Load]] = {KEPT: [], GROWN: [], CHANGED: []}
    for number in workers:
        tell(f"{number} workers")
        rounds = ROUNDS if number <= MANY else FEWER_ROUNDS
        larger = grown(costs, shape, matches, number)
        loads[KEPT].append(simulate(costs, shape, number, rounds=rounds))
        loads[GROWN].append(simulate(costs, larger, number, rounds=rounds))
        fewer = larger._replace(
            decisions=(round(sum(larger.decisions) / len(larger.decisions)),),
            members=min(larger.members, max(MOST_MEMBERS, larger.learners)),
            opponents=min(larger.opponents, MOST_MET),
            met=min(larger.met, MOST_MET),
        )
        once = costs._replace(
            plan=(costs.plan[0], costs.plan[1] + costs.plan[2], 0.0),
            practice=(sum(costs.practice) / len(costs.practice),),
        )
        loads[CHANGED].append(simulate(once, fewer, number, lag=2, together=TOGETHER, rounds=rounds))
    return loads


def grown(costs: Costs, shape: Shape, matches: tuple[int, int], workers: int) -> Shape:
    """A league with a learner for every worker, besides the members that do not learn.

    All make the same number of decisions a second, however long practice takes.
    """
    rate = alone(costs, shape)
    members = shape.members - shape.learners + LINEAGE * workers
    return shape._replace(
        learners=workers,
        decisions=tuple(round(rate * seconds) for seconds in costs.practice),
        members=members,
        matches=workers * min(matches[0], members) + matches[1],
        opponents=members,
        met=workers,
    )


def print_loads(console: Console, costs: Costs, shape: Shape, loads: Mapping[str, Sequence[Load]]) -> None:
    """What was measured, and a table for each league."""
    for note in in_words(costs):
        line(console, note)
    for name, rows in loads.items():
        line(console, f"\n{name}" + (f": {CHANGES}" if name == CHANGED else ""))
        console.print(load_table(rows, alone(costs, shape)))


def in_words(costs: Costs) -> Iterator[str]:
    """The measured costs in words."""
    matches = sorted(costs.matches)
    a_round, a_pair, a_learner = costs.plan
    yield f"practice of a round: {', '.join(f'{seconds:.1f} s' for seconds in costs.practice)}"
    yield (
        f"match: {1e3 * matches[len(matches) // 2]:.1f} ms, the longest of {len(matches)} {1e3 * matches[-1]:.1f} ms; "
        f"a task to another process and back: {1e3 * costs.hand_out:.2f} ms"
    )
    yield (
        f"planning: {1e3 * a_round:.1f} ms, {1e6 * a_pair:.2f} µs for each pair of members, and {1e9 * a_learner:.0f} "
        f"ns for each learner and pair"
    )
    yield (
        f"folding: {1e6 * costs.fold[1]:.0f} µs a leg; committing: {1e3 * costs.commit[0]:.1f} ms a round, "
        f"{1e6 * costs.commit[1]:.0f} µs a leg of {costs.leg_bytes:,} bytes; weights: {costs.weights_bytes:,} bytes, "
        f"{1e3 * costs.load:.1f} ms to load"
    )


def load_table(loads: Sequence[Load], core: float) -> Table:
    """A row per number of workers; ``core``: own decisions per second of a core that does nothing but practice."""
    table = Table(box=None, pad_edge=False)
    for head in HEADS:
        table.add_column(head, justify="right", no_wrap=True)
    for load in loads:
        shares = (load.busy, load.head, load.planning, load.handing, load.writing, load.network)
        table.add_row(
            str(load.workers),
            f"{load.seconds:.1f}",
            f"{load.decisions:,.0f}",
            f"{load.decisions / core:.1f}",
            *(f"{share:.0%}" for share in shares),
            f"{load.stale:.1f} s",
            f"{load.rows:,.0f}",
            f"{load.ledger_bytes / 1e6:.2f} MB/s",
        )
    return table


def draw(path: Path, costs: Costs, shape: Shape, loads: Mapping[str, Sequence[Load]]) -> None:
    """Throughput, shares of time, staleness and ledger load by the number of workers, as a figure."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # an optional extra
    from matplotlib.figure import Figure

    styles = {KEPT: ("#009e73", "o"), GROWN: ("#d55e00", "s"), CHANGED: ("#0072b2", "D")}  # Okabe and Ito 2008
    figure = Figure(figsize=(11, 7.6), layout="constrained")
    FigureCanvasAgg(figure)
    speed, time, stale, ledger = figure.subplots(2, 2).ravel()
    for name, rows in loads.items():
        color, marker = styles[name]
        workers = [load.workers for load in rows]
        plain = {"color": color, "marker": marker, "markersize": 4.5, "linewidth": 1.6}
        speed.plot(workers, [load.decisions for load in rows], label=name, **plain)
        time.plot(workers, [100 * load.busy for load in rows], **plain)
        time.plot(workers, [100 * load.head for load in rows], linestyle=":", **plain)
        stale.plot(workers, [load.stale for load in rows], label=name, **plain)
        ledger.plot(workers, [load.rows for load in rows], label=name, **plain)
    numbers = [load.workers for load in loads[KEPT]]
    most = [alone(costs, shape) * number for number in numbers]
    speed.plot(numbers, most, color="#59636e", linewidth=1, linestyle="--", label="every core at practice")
    titles = {
        speed: "own decisions of all learners per second",
        time: "share of the time at work, %: workers (lines), head (dotted)",
        stale: "seconds since an opponent's weights were committed",
        ledger: "rows of matches in the ledger per second",
    }
    for axes, title in titles.items():
        axes.set_xscale("log", base=2)
        axes.set_xticks(numbers, [str(number) for number in numbers])
        axes.minorticks_off()
        axes.set_title(title, loc="left", fontsize=11)
        axes.set_xlabel("workers")
        axes.grid(color="#e6e8eb")
        axes.spines[["top", "right"]].set_visible(False)
        if axes is not time:
            axes.set_yscale("log")
    seconds = [2**power for power in range(-6, 11)]  # plain numbers: they span a decade or two
    least, most_stale = stale.get_ylim()
    stale.set_yticks([second for second in seconds if least <= second <= most_stale])
    stale.yaxis.set_major_formatter("{x:g}")
    stale.yaxis.minorticks_off()
    speed.legend(frameon=False, fontsize=9)
    figure.savefig(path, dpi=150)
