"""The final evaluation of a run: its main members against held-out members, on held-out scenarios."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace

from dond_marl.errors import InputError
from dond_marl.occupants import Spec, check_needs
from dond_marl.seats import Partner
from league.evaluation.evaluate import GREEDY, HELDOUT, PROTOCOLS
from league.evaluation.final import final_evaluation
from league.figures.rows import Figures
from league.ledger.export import blob_ancestry
from league.ledger.ledger import open_run
from league.ledger.run_directory import RunDirectory
from league.play.blobs import read_blob
from league.play.match import SEATING
from league.play.values import EXPLOITERS, Entrant, LearnerState, Member
from league.settings.read import Config
from partners.learning.rewards import OWN
from partners.provenance import Ancestry, held_out_sources, label, roster_test_members
from partners.rosters import DEV, roster

APART = 2**62  # added to the run's seed, so that evaluation and league draw different noise


class NothingToEvaluate(InputError):
    """The run has no main member."""


def evaluate_run(
    directory: RunDirectory,
    config: Config | None = None,
    *,
    sampling: bool = False,
    confidence: float | None = None,
    sample: int | None = None,
    exact: bool = False,
    report: Callable[[str], None] = lambda _: None,
    trust: bool = False,
) -> Figures:
    """Evaluate the main members of a run, which may be in progress, as they stand in its ledger.

    They play their likeliest acts, or sample as in practice with ``sampling``. Opponents are the members of the split
    ``heldout`` or, where there is none, those of the roster dev; a note lists the opponents that a main, or an ancestor
    of it, has trained with. Scenarios are the held-out part of the run's source, all of it where it has none. The
    settings are the run's own unless a ``config`` is given. ``trust``: the held-out members may need code, files,
    services and keys. Raises :class:`NothingToEvaluate`, :class:`~dond_marl.errors.UntrustedError` without ``trust``,
    and what opening the ledger raises.
    """
    with open_run(directory.path, trust=trust) as (ledger, directory):
        config, members, states = config or ledger.config(), ledger.members(), ledger.states()
        before = ledger.states(-1)
        heldout = {m.name: m.spec for m in members if m.split == "heldout" and m.spec is not None}
        learners = [m.spec for m in members if m.spec is not None and m.is_outside]
        check_needs([*heldout.values(), *learners], ledger.allow, str(directory.path))
    blobs = directory.blobs

    def partner(member: Member, states: Mapping[str, LearnerState] = states) -> Partner:
        blob = states[member.name].blob if member.live else member.blob
        return SEATING.partner(Entrant(member, blob), blobs, greedy=not sampling)

    mains = {m.name: partner(m) for m in members if m.role == "main"}
    if not mains:
        raise NothingToEvaluate("the run has no main member")
    exploiter_names = {m.name for m in members if m.role in EXPLOITERS}
    last = {m.parent: m for m in members if m.role == "snapshot"}  # an exploiter may have been reset since
    exploiters = {
        m.name: partner(m)
        for m in members
        if m.name in exploiter_names or m in [last.get(exploiter) for exploiter in exploiter_names]
    }
    opponents = heldout or {spec.text: spec for spec in roster(DEV)}
    env, league = config.env, config.league
    figures = final_evaluation(
        mains,
        opponents,
        env.model_copy(update={"split": HELDOUT.get(env.scenarios, env.split)}).open_source(),
        env.rules(),
        exploiters=exploiters,
        began={m.name: partner(m, before) for m in members if m.name in mains},
        revealed=env.reveal_partner_utilities,
        sample=sample,
        exact=exact,
        seed=(league.seed + APART) % 2**63,
        confidence=league.confidence if confidence is None else confidence,
        report=report,
    )
    how = "samples its acts, as in practice (sampled)" if sampling else PROTOCOLS[GREEDY]
    pasts = {name: blob_ancestry(read_blob(blobs, states[name].blob).about, config, name) for name in mains}
    notes = [f"a network of the league {how}", *_rewards(config, mains), *_provenance_notes(pasts, opponents)]
    if not heldout:
        notes.append("no member is held out of this league, so the opponents are the roster dev")
    return replace(figures, terms={**figures.terms, "notes": [*notes, *figures.terms["notes"]]})


def _provenance_notes(pasts: Mapping[str, Ancestry], opponents: Mapping[str, Spec]) -> Iterator[str]:
    """Notes on mains that trained with opponents, on held-out views, or with unknown provenance."""
    for name, past in pasts.items():
        familiar = [opponent for opponent, spec in opponents.items() if roster_test_members(past, [spec])]
        if familiar:
            yield f"{name}, or an ancestor of it, has trained with {', '.join(familiar)}"
        if views := held_out_sources(past):
            yield f"{name}, or an ancestor of it, has trained on held-out views, in {' and '.join(views)}"
        if past.unknown:
            unknown = ", ".join(map(label, past.unknown))
            yield f"{name} has trained with {unknown}, whose own training opponents are not recorded"


def _rewards(config: Config, mains: Collection[str]) -> Iterator[str]:
    """Notes on main members that trained on other rewards than their own points."""
    for learner in config.learners:
        rewards = sorted({version.reward for version in config.versions(learner)} - {OWN})
        if learner.name in mains and rewards:
            yield f"{learner.name} was rewarded by {', '.join(rewards)} in training, not only by its own points"
