"""The final evaluation of a run: its main members against held-out members, on scenarios that nobody learned on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from dond_marl.errors import InputError
from dond_marl.occupants import Spec
from dond_marl.seats import Partner
from league.evaluation.evaluate import GREEDY, HELDOUT, PROTOCOLS
from league.evaluation.final import FinalEvaluation, final_evaluation
from league.ledger.export import blob_ancestry
from league.ledger.ledger import ReadLedger
from league.ledger.run_directory import RunDirectory
from league.settings.read import Config
from league.tasks.blobs import read_blob
from league.tasks.seating import SEATING
from league.tasks.values import Entrant, Member, Place
from partners.learning.rewards import OWN
from partners.provenance import Ancestry, held_out_sources, label, roster_test_members
from partners.rosters import DEV, roster

APART = 2**62  # added to the run's seed: what is drawn for an evaluation was not drawn for the league
EXPLOITERS = ("main_exploiter", "league_exploiter")


class NothingToEvaluate(InputError):
    """The run has no main member."""


def evaluate_run(
    directory: RunDirectory,
    config: Config | None = None,
    *,
    sampling: bool = False,
    confidence: float | None = None,
    sample: int | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> FinalEvaluation:
    """Evaluate the main members of a run, which may be in progress, as they stand in its ledger.

    They play their likeliest acts, or as they practiced where ``sampling``. Opponents are the members of the split
    ``heldout`` or, where there is none, those of the roster dev; whom of them a main or somebody in its past has met is
    noted. Scenarios are the held-out part of the run's source, all of it where it has none. The settings are the run's
    own unless a ``config`` is given. Raises
    :class:`NothingToEvaluate` and what opening the ledger raises.
    """
    if not directory.ledger.is_file():
        raise NothingToEvaluate(f"{directory.path}: the run was stopped before it began")
    with ReadLedger(directory.ledger) as ledger, ledger.snapshot():
        if not ledger.has_begun:
            raise NothingToEvaluate(f"{directory.path}: the run was stopped before it began")
        config, members, states = config or ledger.config(), ledger.members(), ledger.states()
    place = Place(directory.blobs)

    def partner(member: Member) -> Partner:
        blob = states[member.name].blob if member.live else member.blob
        return SEATING.partner(Entrant(member, blob), place, greedy=not sampling)

    mains = {m.name: partner(m) for m in members if m.role == "main"}
    if not mains:
        raise NothingToEvaluate("the run has no main member: nobody in it learns for itself")
    hunters = {m.name for m in members if m.role in EXPLOITERS}
    last = {m.parent: m for m in members if m.role == "snapshot"}  # an exploiter may have started over since
    exploiters = {m.name: partner(m) for m in members if m.name in hunters or m in [last.get(each) for each in hunters]}
    held = {m.name: SEATING.partner(Entrant(m, m.blob), place) for m in members if m.split == "heldout"}
    specs = {m.name: m.spec for m in members if m.name in held and m.spec is not None}
    if not held:
        specs = {name: name for name in roster(DEV)}
    env, league = config.env, config.league
    evaluation = final_evaluation(
        mains,
        held or specs,
        env.model_copy(update={"split": HELDOUT.get(env.scenarios, env.split)}).open_source(),
        env.rules(),
        exploiters=exploiters,
        specs=specs,
        revealed=env.reveal_partner_utilities,
        sample=sample,
        seed=(league.seed + APART) % 2**63,
        confidence=league.confidence if confidence is None else confidence,
        report=report,
    )
    how = "samples its acts, as in practice (sampled)" if sampling else PROTOCOLS[GREEDY]
    pasts = {name: blob_ancestry(read_blob(place.blobs, states[name].blob).about, config, name) for name in mains}
    notes = [f"a network of the league {how}", *_rewards(config, mains), *_met_before(pasts, specs)]
    if not held:
        notes.append("nobody is held out of this league, so the opponents are the roster dev")
    return evaluation._replace(notes=(*notes, *evaluation.notes))


def _met_before(pasts: Mapping[str, Ancestry], specs: Mapping[str, Spec]) -> Iterator[str]:
    """A note for each main of which a reader must know: it met opponents (``specs``), or views that are held out."""
    for name, past in pasts.items():
        met = [opponent for opponent, spec in specs.items() if roster_test_members(past, [spec])]
        if met:
            yield f"{name} has met {', '.join(met)} before, itself or through somebody that it learned from"
        if seen := held_out_sources(past):
            yield f"{name} is of a line that practiced on views that are held out, in {' and '.join(seen)}"
        if past.unknown:
            yield f"{name} has met {', '.join(map(label, past.unknown))}, and nobody wrote down whom these had met"


def _rewards(config: Config, mains: Collection[str]) -> Iterator[str]:
    """A note for each main member that practiced for another reward than its own points."""
    for learner in config.learners:
        changed = (stage.learner(learner) for stage in config.curriculum)
        paid = sorted({learner.reward, *(each.reward for each in changed if each is not None)} - {OWN})
        if learner.name in mains and paid:
            yield f"{learner.name} was paid {', '.join(paid)} in practice, not only its own points"
