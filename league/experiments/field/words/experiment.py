"""Every seed's model: learned, measured on unseen dialogues, and played; kept, so that who is stopped goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.torch import load_file, save_file

from dond_marl import __version__
from dond_marl.errors import InputError
from dond_marl.game import Rules
from dond_marl.occupants import seat_occupant
from dond_marl.seats import Cause, Decisions, Partner, Turns
from dond_marl.yardsticks.efficiency import Efficiency
from dond_marl.yardsticks.metrics import Estimate
from league.evaluation.matches import heldout_terms
from league.evaluation.outcomes import Figures, Outcomes, figures, outcomes_from, outcomes_of, together
from league.experiments.field.words.corpus import Vocabulary, lines, rows_of, vocabulary
from league.experiments.field.words.drawing import Voice
from league.experiments.field.words.network import TalkNetwork
from league.experiments.field.words.settings import WordsConfig
from league.experiments.field.words.speaker import Speaker, Spoken
from league.experiments.field.words.talk import talk
from league.experiments.field.words.training import Epoch, learn, perplexity
from league.experiments.kept import place, read, write
from league.ledger.origin import commit
from league.tasks.values import machine
from partners.provenance import identity

CONFIDENCE = 0.95
RULES = Rules(max_turns=10)
IN_WORDS, AS_ACTS = "itself, in words", "itself, heard as acts"  # the two ways to meet itself
KEPT = ("points", "left", "points_agreed", "left_agreed", "deals", "pareto", "welfare")  # figures in the results file
DIGITS = 4

Line = dict[str, Any]


class Counted:
    """A speaker, and what became of its sentences."""

    def __init__(self, speaker: Speaker) -> None:
        self.speaker, self.traits = speaker, speaker.traits
        self.decisions = self.first = self.fallen = 0

    def act(self, turns: Turns) -> Decisions:
        """What the speaker plays, counted."""
        spoken: Spoken = self.speaker.speak(turns)
        causes = spoken.decisions.cause
        fallen = causes == Cause.UNPARSABLE
        self.decisions += turns.size
        self.fallen += int(fallen.sum())
        self.first += sum(times == 1 and not fell for times, fell in zip(spoken.drawn, fallen.tolist(), strict=True))
        return spoken.decisions


def perform(config: WordsConfig, tell: Callable[[str], None] = lambda _: None) -> Iterator[Line]:
    """A line for each model, then one for each whom it meets; what is kept in ``output_dir`` is not done again.

    Raises :class:`dond_marl.scenarios.data.DataError`.
    """
    folder = Path(config.output_dir).expanduser()
    data_dir = None if config.data_dir is None else Path(config.data_dir).expanduser()
    rows = rows_of("train", data_dir, to_train_on=True)
    known = vocabulary(rows)
    taught = lines(rows, known)
    val, test = (lines(rows_of(split, data_dir), known) for split in ("val", "test"))
    for seed in range(config.learning.seeds):
        chosen = {"learning": {**config.learning.model_dump(), "seeds": None}, "seed": seed, "lines": len(taught)}
        path = place(folder, chosen)
        weights = path.with_suffix(".safetensors")
        about = read(path)
        network = TalkNetwork(len(known), seed)
        if about is None or not weights.is_file():
            tell(f"model {seed}: {len(taught):,} lines of dialogue, {len(known)} words")
            network, epochs = learn(taught, val, len(known), config.learning, seed, lambda each: tell(_told(each)))
            about = {"epochs": len(epochs), "val": perplexity(network, val), "test": perplexity(network, test)}
            folder.mkdir(parents=True, exist_ok=True)
            save_file(network.state_dict(), weights)
            write(path, about)
        network.load_state_dict(load_file(weights))
        yield {"seed": seed, "lines": len(taught), "words": len(known), **_rounded(about)}
        for who in (IN_WORDS, AS_ACTS, *config.against):
            met = who if who in (IN_WORDS, AS_ACTS) else identity(who)
            played = place(
                folder, {**chosen, "speaking": config.speaking.model_dump(), "who": met, "n": config.scenarios}
            )
            figures = read(played)
            if figures is None:
                tell(f"model {seed} meets {who}")
                figures = _meeting(network, known, who, config, seed)
                write(played, figures)
            yield {"seed": seed, "against": who, **figures}


def _meeting(network: TalkNetwork, known: Vocabulary, who: str, config: WordsConfig, seed: int) -> Line:
    voice = Voice(network, known, config.speaking)
    terms = heldout_terms(RULES, seed)
    terms = terms._replace(scenarios=terms.scenarios.rows(slice(config.scenarios)))
    if who == IN_WORDS:
        talks = talk((voice, voice), terms.scenarios, seed=seed, most=config.speaking.sentences)
        turns = np.array([float(len(each.utterances)) for each in talks.talks])
        ended = sum(each.ended for each in talks.talks)
        said = {"sentences": talks.utterances, "unread": talks.unread, "ended": ended}
        return {**_plain(_of_who_opens(talks.reached, turns)), **said}
    counted = Counted(Speaker(voice))
    other: Partner = Speaker(voice) if who == AS_ACTS else seat_occupant(who)
    if who == AS_ACTS:
        first, _ = terms.games((counted, counted), other)
        played = figures(outcomes_of(first, 0), CONFIDENCE)
    else:
        first, second = terms.games((counted, counted), other)
        played = figures(together((outcomes_of(first, 0), outcomes_of(second, 1))), CONFIDENCE)
    said = {"decisions": counted.decisions, "first": counted.first, "fallen": counted.fallen}
    return {**_plain(played), **said}


def _of_who_opens(reached: Efficiency, turns: np.ndarray[Any, np.dtype[np.float64]]) -> Figures:
    outcomes: Outcomes = outcomes_from(reached, 0, turns)
    return figures(outcomes, CONFIDENCE)


def _plain(found: Figures) -> Line:
    kept = {key: _number(getattr(found, key)) for key in KEPT}
    return {"games": found.points.n, **kept}


def _number(estimate: Estimate) -> Line:
    """JSON knows no ``nan``: it is ``None``."""
    rounded = {key: round(getattr(estimate, key), DIGITS) for key in ("mean", "low", "high")}
    return {"n": estimate.n, **{key: value if value == value else None for key, value in rounded.items()}}


def _rounded(about: Line) -> Line:
    return {key: round(value, DIGITS) if isinstance(value, float) else value for key, value in about.items()}


def _told(epoch: Epoch) -> str:
    return f"  epoch {epoch.number}: perplexity {epoch.perplexity:.2f} on val.txt{', the best' if epoch.best else ''}"


def text(found: list[Line], config: WordsConfig) -> str:
    """All lines as JSON, after one that says what made them."""
    settings = config.model_dump(mode="json", exclude={"data_dir", "output_dir"})
    at = datetime.now(UTC).isoformat("T", "seconds")
    head = {"settings": settings, "code": {"version": __version__, **commit(), **json.loads(machine())}, "at": at}
    return "".join(json.dumps(line) + "\n" for line in (head, *found))


def parsed(lines_of_json: list[str]) -> list[Line]:
    """The lines without the first. Raises :class:`InputError` for a file of something else."""
    try:
        head, *found = map(json.loads, lines_of_json)
        if "settings" not in head or not all("seed" in line for line in found):
            raise ValueError("not lines of this experiment")
    except (TypeError, ValueError) as error:
        raise InputError(f"no results of words ({error}); make them again: dond experiment words") from None
    return found
