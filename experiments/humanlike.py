"""Compare strength and likeness to people: training from scratch, from people's play, and with a KL penalty toward it.

One settings file is trained from scratch, from ``init_from``, and from there with each KL penalty, with one or several
seeds; the start policy and the majority class are baselines. Strength: own points against the roster dev on held-out
scenarios. Likeness: accuracy in predicting people's acts of split ``test`` (:mod:`league.evaluation.likeness`), first
for replies, as nearly all openings propose. If DISAGREE ends the game, positions with refusals are left out.
It needs the supervised expert (dond train --algo bc) and the published dialogues.

examples:
  dond experiment humanlike --data-dir data
  dond experiment humanlike --data-dir data --kl 0.03 --kl 0.3 --seeds 3 --json humanlike.json
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from dond_marl.dialogues.positions import Positions, human_positions
from dond_marl.errors import InputError
from dond_marl.game import Rules
from dond_marl.records.files import write_atomically
from dond_marl.statistics import Estimate, mean_of
from experiments.kit import experiment_command, show_sections, table_section
from league.cli.shell import FILE, WritableFile, integer, output_console, print_line
from league.display.training import TrainWatcher
from league.evaluation.likeness import Accuracy, Likeness, always, distance, likeness, majority
from league.evaluation.matches import Scores, heldout_terms, scores
from league.ledger.run_directory import new_run
from league.settings.read import load_config
from league.settings.training import TrainConfig
from league.tables.blocks import Section, Unit
from league.tables.figures import with_margin
from league.tasks.provenance import check_training_provenance, training_ancestry
from league.training.clone import report_json
from league.training.training import Watcher, train
from partners.network.checkpoint import CheckpointError
from partners.network.network import PolicyNetwork
from partners.network.partner import NetworkPartner
from partners.provenance import confirm_opponents_unseen
from partners.rosters import DEV, roster

SEED = 0  # of the games
CONFIDENCE = 0.95  # two-sided, of intervals over seeds


class HumanlikeError(InputError):
    """Settings that do not fit the comparison."""


class PolicyRow(NamedTuple):
    """Strength of one policy, and its likeness to people."""

    name: str
    seed: int | None  # of its training; None for the start policy
    decisions: int  # own decisions that it learned from
    greedy: Scores
    sampled: Scores
    likeness: Likeness
    distance: Estimate  # KL(policy || start policy), nats


class LikenessBase(NamedTuple):
    """Evaluation set of likeness, and the accuracy of the majority-class baseline."""

    positions: int  # of test, possible under the rules
    replies: int  # positions after an act of the partner
    refusals: int  # positions left out by the rules: a refusal, or the answer to one
    most_said: str  # the most frequent act
    majority: Accuracy  # of always predicting it


class MeanRow(NamedTuple):
    """Means of one training over its seeds, with Student's intervals; over scenarios if there is one seed."""

    name: str
    seeds: int  # 0 for the start policy
    decisions: int
    greedy: Estimate  # points of ten
    sampled: Estimate
    replies: Estimate  # accuracy in replies
    everywhere: Estimate
    distance: Estimate
    act_nats: Estimate


def check_settings(config: TrainConfig) -> None:
    """Raise :class:`HumanlikeError` unless the settings have a start policy and no hints."""
    training = config.training
    if training.algo == "bc":
        raise HumanlikeError("the algorithm must be ppo or reinforce; bc makes the start policy")
    if training.init_from is None:
        raise HumanlikeError("the settings need training.init_from, such as expert(kind=supervised)")
    if config.hints.mode != "none":
        raise HumanlikeError("likeness to people is measured without hints: set hints.mode=none")


def summarise_positions(positions: Positions, whole: Positions) -> LikenessBase:
    """Summarise the evaluation positions; ``whole``: all positions of the same dialogues, with refusals."""
    most = majority(positions)
    replies = int(positions.replies.sum())
    return LikenessBase(positions.size, replies, whole.size - positions.size, most.name, always(most, positions))


def mean_rows(rows: Sequence[PolicyRow]) -> list[MeanRow]:
    """One row per training, in order."""
    found: dict[str, list[PolicyRow]] = {}
    for row in rows:
        found.setdefault(row.name, []).append(row)
    return [_mean_row(name, own) for name, own in found.items()]


def _mean_row(name: str, rows: Sequence[PolicyRow]) -> MeanRow:
    def over(value: Callable[[PolicyRow], Estimate]) -> Estimate:
        if len(rows) == 1:
            return value(rows[0])
        return mean_of([value(row).mean for row in rows], CONFIDENCE)

    return MeanRow(
        name,
        sum(row.seed is not None for row in rows),
        rows[0].decisions,
        over(lambda row: row.greedy.points),
        over(lambda row: row.sampled.points),
        over(lambda row: row.likeness.accuracy.replies),
        over(lambda row: row.likeness.accuracy.everywhere),
        over(lambda row: row.distance),
        over(lambda row: row.likeness.act_nats),
    )


def variants(config: TrainConfig, pulls: Sequence[float]) -> Iterator[tuple[str, TrainConfig]]:
    """Every training of the comparison, with its name."""
    algo, training = config.training.algo.upper(), config.training
    starts: list[tuple[str, Mapping[str, Any]]] = [
        (f"{algo} from scratch", {"init_from": None, "kl": 0.0}),
        (f"people, then {algo}", {"kl": 0.0}),
        *((f"people, then {algo} with a pull of {pull:g}", {"kl": pull}) for pull in pulls),
    ]
    for name, changes in starts:
        yield name, config.model_copy(update={"training": training.model_copy(update=changes)})


def likeness_base(config: TrainConfig, data_dir: Path | None) -> LikenessBase:
    """The evaluation set under the settings' rules. Raises :class:`dond_marl.scenarios.data.DataError`."""
    rules = config.env.rules()
    whole = human_positions("test", Rules(rules.max_turns, "rejects"), data_dir)
    return summarise_positions(human_positions("test", rules, data_dir), whole)


def measure_policies(
    config: TrainConfig,
    pulls: Sequence[float],
    seeds: Sequence[int],
    data_dir: Path | None,
    watcher: Watcher,
    opponents: Sequence[str],
    report: Callable[[str], None],
) -> Iterator[PolicyRow]:
    """Train and measure every policy: first the start policy, then each training with each of ``seeds``.

    All play ``opponents``; ``report`` reports progress.

    Raises :class:`dond_marl.scenarios.data.DataError`, :class:`partners.learning.first_weights.FirstWeightsError`, and
    ``KeyboardInterrupt`` if the watcher requests a stop.
    """
    unseen = human_positions("test", config.env.rules(), data_dir)
    people = config.training.first_network(config.env, hints=False, seed=0)
    terms = heldout_terms(config.env.rules(), SEED)

    def row(name: str, seed: int | None, decisions: int, network: PolicyNetwork) -> PolicyRow:
        like, nats = likeness(network, unseen), distance(network, people, unseen)
        played = []
        for greedy in (True, False):
            report(f"{name}: {'greedy' if greedy else 'sampled'} play on the held-out scenarios")
            played.append(scores(NetworkPartner(network, greedy=greedy), opponents, terms))
        return PolicyRow(name, seed, decisions, played[0], played[1], like, nats)

    yield row("people", None, 0, people)
    for (name, settings), seed in itertools.product(variants(config, pulls), seeds):
        report(f"training: {name}, seed {seed}")
        seeded = settings.model_copy(update={"training": settings.training.model_copy(update={"seed": seed})})
        training, finished = train(seeded, new_run(Path(config.logging.output_dir).expanduser()), watcher)
        if not finished:
            raise KeyboardInterrupt
        learner = training.learner
        yield row(name, seed, learner.decisions, learner.network.to("cpu"))


def humanlike_section(document: Mapping[str, Any]) -> Section:
    """The table of a results document: accuracy in predicting people's acts, points, and distances."""

    def cell(value: Mapping[str, Any], unit: Unit = "points") -> str:
        low, high = (math.nan if value[end] is None else value[end] for end in ("low", "high"))
        return with_margin(Estimate(value["mean"], value["n"], low, high), unit)

    measured = document["measured_on"]
    majority = [cell(measured["majority"][part], "share") for part in ("replies", "everywhere")]
    rows = [[f"always {measured['most_said']}", "", *majority, "", "", "", ""]]
    for row in document["table"]:
        shares = (cell(row[key], "share") for key in ("replies", "everywhere"))
        others = (cell(row[key]) for key in ("greedy", "sampled", "distance", "act_nats"))
        rows.append([row["name"], str(row["seeds"] or ""), *shares, *others])
    heads = ("policy", "seeds", "same act, in replies", "everywhere", f"points against {document['against']}, greedy",
             "sampled", "KL from people", "cross-entropy of an act, nats")  # fmt: skip
    left_out = (
        f"; {measured['refusals']:,} more positions with a refusal are left out, as DISAGREE ends this game"
        if measured["refusals"]
        else ""
    )
    return table_section(
        "Strength and likeness to people",
        heads,
        rows,
        f"n = {measured['positions']:,} acts of people, {measured['replies']:,} of them replies{left_out}. 95 % "
        "intervals are over seeds if there are several, otherwise over scenarios.",
    )


STOPPED = "no table; finished runs are saved"


@experiment_command(__doc__, "humanlike.yaml", stopped=STOPPED, results=False, run_errors=(CheckpointError,))
@click.option("--kl", "penalties", type=float, multiple=True, metavar="X", help="KL penalty; may be repeated")
@click.option("--data-dir", type=FILE, metavar="FOLDER", help="folder of the published files (data)")
@click.option("--json", "json_path", type=WritableFile(), metavar="FILE", help="also write the figures to a file")
@click.option("--seeds", type=integer(1, 1000), default=1, metavar="N", help="of each training: 1 to N (1)")
@click.option("--against", multiple=True, metavar="OCCUPANT", help="opponents; may be repeated (the roster dev)")
def command(
    config_path: Path,
    overrides: tuple[str, ...],
    penalties: tuple[float, ...],
    data_dir: Path | None,
    seeds: int,
    json_path: Path | None,
    against: tuple[str, ...],
) -> None:
    """Train, measure and print."""
    config = load_config(config_path, overrides, TrainConfig)
    check_settings(config)
    check_training_provenance(config)
    penalties = penalties or (config.training.kl,)
    if any(not 0 < penalty <= 1000 for penalty in penalties):
        raise HumanlikeError(f"a KL penalty is a number above 0, at most 1000: training.kl or --kl; got {[*penalties]}")
    confirm_opponents_unseen(against, training_ancestry(config), "the learner")
    evaluation, opponents, numbers = likeness_base(config, data_dir), against or roster(DEV), range(1, seeds + 1)
    with TrainWatcher(output_console()) as watcher:
        policies = list(measure_policies(config, penalties, numbers, data_dir, watcher, opponents, print_line))
    document = {
        "against": ", ".join(against) or "the roster dev",
        "disagree": config.env.disagree,
        "measured_on": report_json(evaluation),
        "partner": config.env.partner,
        "training": config.training.model_dump(mode="json"),
        "table": [report_json(row) for row in mean_rows(policies)],
        "policies": [report_json(row) for row in policies],
    }
    show_sections(humanlike_section(document))
    if json_path is not None:
        write_atomically(json_path, json.dumps(document, indent=1) + "\n")
        print_line(f"written: {json_path}")
