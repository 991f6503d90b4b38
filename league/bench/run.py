"""Benchmark of one submission: all games against a roster, in one or several processes, and the results line.

A submission is any occupant, a checkpoint, or a member of a league; networks always play greedily.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from dond_marl import __version__
from dond_marl.errors import InputError, suggest
from dond_marl.files import user_path
from dond_marl.game import Act
from dond_marl.occupants import (
    OccupantNameError,
    Spec,
    SpecLike,
    check_needs,
    find_factory,
    read_spec,
    seat_occupant,
    short_names,
)
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Partner, expensive_to_query
from dond_marl.solvers.best_response import exact_by_answers
from dond_marl.solvers.labels import LABELS, ReadsAs, reads_labels
from league.bench.figures import (
    PartnerGames,
    answers_of,
    cells_of,
    figures_of,
    label_gains,
    partner_games,
    with_references,
)
from league.bench.held_out import SAMPLE, Logging, log_evaluation, logging_of
from league.bench.protocol import (
    CONFIDENCE,
    NOISE_SEED,
    REPLICATES,
    RULES,
    Field,
    beyond_field,
    haggling_field,
    lewis_field,
    protocol_document,
)
from league.bench.results import FORMAT, Row, digest, seal_row
from league.evaluation.exploitability import exploitability_by_seat
from league.evaluation.matches import MEMBER, Terms, play
from league.ledger.export import blob_ancestry
from league.ledger.ledger import open_run
from league.ledger.run_directory import CHECKOUT, source_commit
from league.play.backends import in_processes
from league.play.match import SEATING
from league.play.occupant_kinds import is_free
from league.play.values import ORACLES, Entrant, Member, machine
from partners.adapters.agents import programs_in
from partners.provenance import (
    NETWORKS,
    OccupantProvenance,
    confirm_opponents_unseen,
    held_out_sources,
    provenance_of,
    roster_test_members,
)
from partners.rosters import OF_PEOPLE, ROSTERS, TEST2, roster

LIST_FROM = "of"  # the parameter that holds a list of occupants


class Submission(NamedTuple):
    """The occupant that is measured, with its name and origin for the results line."""

    player: Entrant  # a spec, or a member of a league with its weights
    blobs: Path  # the folder of the weights
    name: str  # in the leaderboard
    known: OccupantProvenance  # its identity, the same on every machine, and its opponents and ancestors in training
    seed: int | None = None  # of its training: results of one name that differ in it are seeds of one arm
    declared: str | None = None  # training opponents, as declared by the submitter
    settings_sha256: str | None = None  # of the league that it comes from
    acts: int | None = None  # environment acts of its whole training, all learners together, where known

    def partner(self) -> Partner:
        """The occupant, made once per process. Raises :class:`~dond_marl.occupants.OccupantNameError`."""
        return SEATING.partner(self.player, self.blobs, greedy=True)


def submission_of_spec(spec: SpecLike, name: str | None = None) -> Submission:
    """A submission of an occupant.

    Networks play greedily, whatever their default. Raises :class:`~dond_marl.occupants.OccupantNameError` and
    :class:`~dond_marl.errors.InputError` where ``greedy=False`` is given.
    """
    spec, _ = find_factory(spec)
    greedy = greedy_spec(spec)
    usual = (spec.without("greedy") if spec.kind in NETWORKS else spec).text  # every network here is greedy
    player = Entrant(Member(greedy.text, greedy))
    return Submission(player, Path(), name or short_names([usual]).get(usual, usual), provenance_of(greedy))


def submission_of_run(folder: Path, member: str | None, name: str | None = None, *, trust: bool = False) -> Submission:
    """A submission of a member of a league, in its current state or as a snapshot.

    ``member`` may be left out where the league has one main member. ``trust``: it may need code, files, services and
    keys. Raises :class:`~dond_marl.errors.UntrustedError` without ``trust``, :class:`~dond_marl.errors.InputError` for
    a member that is not there, and what opening the ledger raises.
    """
    with open_run(folder, trust=trust) as (ledger, directory):
        members, states, meta, config = ledger.members(), ledger.states(), ledger.meta(), ledger.config()
    by_name = {entry.name: entry for entry in members}
    mains = [entry.name for entry in members if entry.role == "main"]
    if member is None and len(mains) != 1:
        raise InputError(f"name the member of {directory.path} to measure with --member: one of {', '.join(by_name)}")
    chosen = mains[0] if member is None else member
    if chosen not in by_name:
        raise InputError(f"{directory.path} has no member {chosen!r}; it has {', '.join(by_name)}")
    measured = by_name[chosen]
    if measured.spec is not None:
        check_needs([measured.spec], ledger.allow, str(directory.path))
        if not measured.is_outside:
            return submission_of_spec(measured.spec, name or chosen)
    blob = states[chosen].blob if measured.live else measured.blob
    settings_digest = hashlib.sha256("".join(f"{key}\n{meta[key]}\n" for key in sorted(meta)).encode()).hexdigest()
    assert blob is not None
    from league.play.blobs import read_blob  # loads PyTorch

    past = blob_ancestry(read_blob(directory.blobs, blob).about, config, measured.parent or chosen)
    identity = Spec("checkpoint", {"greedy": measured.role != "sampled_oracle", "sha256": blob}).text
    if measured.role in ORACLES:
        identity = Spec("best_response", {"to": identity}).text
    return Submission(
        Entrant(measured, blob),
        directory.blobs,
        name or chosen,
        OccupantProvenance(identity, past),
        settings_sha256=settings_digest,
    )


def greedy_spec(spec: Spec) -> Spec:
    """The spec with ``greedy=True`` for every network in it; raises :class:`InputError` for ``greedy=False``."""
    if spec.kind in NETWORKS:
        if not spec.parameters.get("greedy", True):
            raise InputError(
                "the benchmark's protocol is that networks play their likeliest act; leave greedy=False out of "
                f"{spec.kind}"
            )
        spec = spec.with_parameters(greedy=True)
    return spec.with_parameters(**{key: _greedy_inside(key, value) for key, value in spec.parameters.items()})


def _greedy_inside(key: str, value: Any) -> Any:
    if key == LIST_FROM and isinstance(value, list | tuple):
        return [_greedy_inside(key, item) for item in value]
    inside = read_spec(value) if isinstance(value, str | Mapping) else None
    if inside is None or (isinstance(value, str) and inside.kind not in NETWORKS):  # another text, such as a path
        return value
    greedy = greedy_spec(inside)
    return greedy.text if isinstance(value, str) else {"kind": greedy.kind, **greedy.parameters}


def provenance(submission: Submission, partners: Sequence[Spec]) -> str:
    """The recorded or declared training opponents, in words, of a submission that may be measured against ``partners``.

    Raises :class:`partners.provenance.ProvenanceError` where one of them is of a held-out roster and the submission, or
    an ancestor of it, trained with such a roster, or where its training opponents are neither recorded nor declared.
    """
    past = submission.known.past
    training = confirm_opponents_unseen(partners, past, submission.name, submission.declared)
    if training is None:
        training = f"known: {len(past.opponents)} in its past" if not past.unknown else "not written down"
        training = training if submission.declared is None else f"{training}; declared: {submission.declared}"
    if views := held_out_sources(past):
        training += f"; trained on views that are held out, in {' and '.join(views)}"
    return training


def play_partner(
    submission: Submission, partner: Spec, field: Field, replicates: int, label: Act | None = None
) -> PartnerGames:
    """All games of a player with one partner, a spec; a scenario is played once where both are deterministic.

    ``label``: PROPOSE or INSIST, with which the partner reads all offers of the player, whatever that says.
    Raises :class:`~league.evaluation.matches.PlayError`, :class:`~league.evaluation.matches.UnreachedError`.
    """
    assert field.source.table is not None
    terms = Terms(field.source, field.source.table, RULES, NOISE_SEED, CONFIDENCE)
    player, seated = submission.partner(), seat_occupant(partner)
    if label is not None:
        seated = ReadsAs(seated, label)
    times = 1 if player.traits.deterministic and seated.traits.deterministic else replicates
    noise = int.from_bytes(hashlib.sha256(partner.encode()).digest()[:8])  # a function of the partner's spec alone
    played = (play(terms, MEMBER, (player, player), partner, seated, index=(noise, i)) for i in range(times))
    return partner_games(played, field)


def play_roster(
    submission: Submission,
    partners: Sequence[Spec],
    field: Field,
    replicates: int,
    *,
    label: Act | None = None,
    workers: int = 1,
    report: Callable[[str], None] = lambda _: None,
) -> dict[str, PartnerGames]:
    """The games with every partner, by its spec, in the order given; the same whatever ``workers`` is.

    ``label``: as for :func:`play_partner`; ``report`` receives the progress.
    """
    played: dict[str, PartnerGames] = {}
    calls = [(submission, partner, field, replicates, label) for partner in partners]
    for i, games in in_processes(play_partner, calls, workers):
        played[partners[i]] = games
        report(f"{len(played)} of {len(partners)} partners")
    return {partner: played[partner] for partner in partners}


@lru_cache(maxsize=16)  # the rosters of one submission ask for the same
def exploitability_of(player: Entrant, blobs: Path) -> Row | None:
    """Gains of exact best responses over self-play, points of ten over all scenarios, as plain values by seat.

    NashConv is the sum of both seats' gains (Lanctot et al. 2017, arXiv 1711.00832, section 2). ``None`` where the
    player acts at random or remembers (there is no exact best response), or is code of others (it is queried in its
    games alone). Some 4 processor seconds.
    """
    partner = SEATING.partner(player, blobs, greedy=True)
    if not (is_free(partner) and exact_by_answers(partner, RULES)):
        return None
    seats = exploitability_by_seat(partner, lewis_field().source, RULES)
    gain = [seat.gain[0] for seat in seats]
    return {
        "self_play": [seat.self_play for seat in seats],
        "response": [seat.response.low for seat in seats],
        "gain": gain,
        "nashconv": sum(gain),
    }


def check_committed(allow_uncommitted: bool, root: Path = CHECKOUT) -> None:
    """Raise :class:`InputError` where the sources of this checkout differ from its commit, unless that is allowed.

    The rows of allowed results say so in ``code``.
    """
    if source_commit(root).get("changed_since") and not allow_uncommitted:
        raise InputError(
            "the sources of this checkout differ from its commit, so the result could not be repeated: commit the "
            "changes first, or give --allow-uncommitted; the result then says so, and the results pages refuse it"
        )


@lru_cache(maxsize=256)
def _reads_labels(partner: Spec) -> bool:
    return reads_labels(seat_occupant(partner), open_source("lewis"), RULES)


AGENTS = "agents:"  # before the path of a folder of programs
OWN = "own list"  # the roster's name where partners are named one by one


class Opponents(NamedTuple):
    """The partners of a measurement: a roster, or a list of specs."""

    name: str
    partners: tuple[Spec, ...]  # networks greedy


def opponents_of(words: Sequence[SpecLike]) -> Opponents:
    """The opponents that ``words`` name: one roster, or specs and folders of programs (``agents:FOLDER``).

    Raises :class:`~dond_marl.errors.InputError`, also for a roster among specs.
    """
    if not words:
        raise InputError(f"name the opponents with --against: one of {', '.join(ROSTERS)}, or occupants")
    if len(words) == 1 and words[0] in ROSTERS:
        if not roster(words[0]):
            raise InputError(f"the roster {words[0]} has no members yet")
        return Opponents(words[0], roster(words[0]))
    if named := [word for word in words if word in ROSTERS]:
        raise InputError(f"--against takes one roster or several occupants; got {named[0]} among {len(words)}")
    partners = set[Spec]()
    for word in words:
        if isinstance(word, str) and word.startswith(AGENTS):
            partners.update(programs_in(user_path(word.removeprefix(AGENTS))))
            continue
        try:
            partners.add(greedy_spec(find_factory(word)[0]))
        except OccupantNameError as error:
            hint = suggest(str(word), ROSTERS)
            raise OccupantNameError(f"{error}; the rosters are {', '.join(ROSTERS)}{hint}") from None
    return Opponents(OWN, tuple(sorted(partners)))


def measure(
    submission: Submission,
    opponents: Opponents,
    *,
    beyond: bool = False,
    sample: int | None = None,
    replicates: int = REPLICATES,
    labels: bool = False,
    workers: int = 1,
    exploitability: bool = True,
    adversary: bool = False,
    logging: Logging | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> Row:
    """Play all games and return the results line.

    ``sample``: number of scenarios instead of all, for costly players. ``labels``: play the games with partners that
    read labels twice more, every offer being a PROPOSE and an INSIST, for the figure ``best_labels``.

    ``exploitability``: also solve exact best responses to the submission, on all scenarios of ``lewis`` and where it
    has them (:func:`exploitability_of`). ``adversary``: where there are none, train exploiters against the submission
    (:func:`league.evaluation.adversary.adversary_gains`), some minutes. ``logging``: of evaluations against the rosters
    test2 and test3 (:func:`league.bench.held_out.logging_of`), which has a sample of its own; none is larger.

    Raises :class:`~dond_marl.errors.InputError` for a submission that may not be measured against these partners, or is
    not logged, :class:`~league.evaluation.matches.PlayError` and :class:`~league.evaluation.matches.UnreachedError`.
    """
    began = time.perf_counter()
    if logging is None:
        logging_of(opponents.partners, Path(), None, None)  # raises where a log is needed
    if opponents.name == TEST2:
        sample = min(sample or SAMPLE, SAMPLE)
    training = provenance(submission, opponents.partners)
    if opponents.name in OF_PEOPLE:
        if beyond:
            raise InputError(f"{opponents.name} is played on the scenarios of its contest: leave --beyond out")
        field, times = haggling_field(opponents.name, sample), 1
    else:
        field = beyond_field(sample) if beyond else lewis_field(sample)
        times = 1 if sample is not None else replicates
    _check_sample(submission, opponents, field, sample)
    if adversary and not field.whole:
        raise InputError("--adversary is for all scenarios of lewis: leave --sample and --beyond out, or --adversary")
    benchmark = protocol_document(field, opponents.name, opponents.partners, times)
    about = _submission_document(submission, training, opponents.partners)
    earlier = 0
    if logging is not None:
        measured = {key: about[key] for key in ("name", "seed", "identity")}
        scenarios = f"{benchmark['number_of_scenarios']} of {field.name}"
        earlier = log_evaluation(logging, **measured, against=opponents.name, scenarios=scenarios)
    play_all = partial(play_roster, submission, field=field, replicates=times, workers=workers, report=report)
    games, gains = play_all(opponents.partners), {}
    if labels:
        readers = [name for name in opponents.partners if _reads_labels(name)]
        gains = label_gains(games, [play_all(readers, label=label) for label in LABELS], field)
    row: Row = {
        "format": FORMAT,
        "submission": about,
        "benchmark": benchmark,
        "config_sha256": digest({"submission": about, "benchmark": benchmark}),
        "code": _code_document(),
        "figures": {**figures_of(games, field), **gains},
        "cells": cells_of(games, field),
        "answers": answers_of(games),
    }
    if logging is not None:
        row[logging.roster] = {"earlier_evaluations": earlier, "reason": logging.reason}
    if exploitability and field.whole and (exploited := exploitability_of(submission.player, submission.blobs)):
        row["exploitability"] = exploited
    elif adversary:
        from league.evaluation.adversary import adversary_gains  # loads PyTorch

        row["adversary"] = adversary_gains(submission.partner, workers=workers, report=report)
    row["clock"] = {"at": datetime.now(UTC).isoformat("T", "seconds"), "seconds": round(time.perf_counter() - began, 1)}
    return seal_row(with_references(row))


def _check_sample(submission: Submission, opponents: Opponents, field: Field, sample: int | None) -> None:
    """Raise :class:`InputError` for a sample without headline, and for costly players on all scenarios."""
    if not field.slices[field.headline].any(axis=1).all():
        raise InputError(f"a sample of {sample} scenarios holds none of {field.headline} in both seats; take more")
    if sample is None:
        players = {submission.name: submission.partner()} | {p: seat_occupant(p) for p in opponents.partners}
        costly = [name for name, player in players.items() if expensive_to_query(player.traits)]
        if costly:
            raise InputError(f"{costly[0]} is costly to query in more than 10,000 games per partner: give --sample N")


def _submission_document(submission: Submission, training: str, partners: Sequence[Spec]) -> Row:
    """The submission as plain values; the keys of a measurement against ``partners``."""
    traits, (identity, past) = submission.partner().traits, submission.known
    return {
        "name": submission.name,
        "seed": submission.seed,
        "identity": identity,
        "learned": traits.learned,
        "deterministic": traits.deterministic,
        "sees_everything": traits.privileged,
        "met": training,
        "met_here": list(roster_test_members(past, partners)),
        "declared": submission.declared,
        "settings_sha256": submission.settings_sha256,
        "acts": submission.acts,
    }


def _code_document() -> Row:
    """The versions that a line depends on; the results pages refuse a commit with changes that it does not hold."""
    commit = source_commit()
    changed = {"uncommitted": True} if commit.get("changed_since") else {}
    return {"version": __version__, **commit, **changed, **json.loads(machine())}
