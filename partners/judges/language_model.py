"""A language model as the judge of a style: a task description, a few worked episodes, the episode, the question.

The judged seat is called Alice, whichever seat it was. An episode is described from numbers and acts only, so that no
name and no player's text can reach the judge. An answer counts if its first word is *yes* or *no*; equal episodes are
queried once.

A game without a verdict (a service is down, a budget is spent, an answer is neither yes nor no) is paid the mean of the
judged games of its block, which favours neither, and is counted. If most verdicts are missing, learning stops with
:class:`JudgeError`. Source: Kwon et al. 2023 (arXiv 2303.00001), section 3 and appendix A.1: a language model's yes or
no in place of a reward function, and the parts of the prompt and their order; the text is ours. There an episode
without a readable answer is left out of the update.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property, lru_cache
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dond_marl.batch import Games
from dond_marl.errors import RunFailure
from dond_marl.game import ITEMS, SEATS, Act, Ending, Triple, rest
from dond_marl.records.transcript import describe_items
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import Scenarios, open_source
from dond_marl.seats import Int8s
from dond_marl.statistics import TEN
from partners.judges.styles import Style, count_offers, score_leads, shows_style, style_named
from partners.llm.cache import CachedClient
from partners.llm.client import Client, Failure, ModelReply, Query, query_all
from partners.llm.local.client import LocalClient, LocalSettings, WordClient
from partners.llm.remote.client import RemoteClient
from partners.llm.reply import Legal, Reading, unwrap
from partners.llm.service import ServiceSettings, select_settings, with_settings
from partners.mixture import Mixture
from partners.parameters import check_choice, check_whole_number

Provider = Literal["groq", "openai", "hf"]
JUDGED, OTHER = "Alice", "Bob"
EXAMPLES = 3  # worked episodes of a judge
MOST_FAILED = 0.5  # share of a block's games that may be without a verdict
_PLAYED = 1_000  # games from which worked episodes are chosen; more than fifty show each style
# Their players, which together repeat and vary offers, concede and hold firm.
_PLAYERS = ("boulware", "conceder", "heuristic", "naive_tit_for_tat", "pushover", "random", "stubborn", "versatile")
SYSTEM = (
    "You judge how people negotiate. Answer the last question with Yes or No as the first word, then give the reason "
    "in one short sentence."
)
TASK = (
    f"Two negotiators, {JUDGED} and {OTHER}, divide a pool of books, hats and balls. Each knows what the items are "
    "worth to itself alone. They speak in turn: propose a split, insist on one, agree to the other's last offer, "
    "disagree, or end the talk. With an agreement each earns what its items are worth to it; without one both earn 0 "
    f"points. After each episode comes a question about {JUDGED}."
)
NUDGE = "Your last reply did not begin with Yes or No. Begin with one of these two words."
_NO_ACT = Legal((0, 0, 0), ())  # the question is not about an act
_FIRST_WORD = re.compile(r"\W*([^\W\d_]+)(\s*(?:/|\bor\b)\s*(?:yes|no)\b)?", re.IGNORECASE)


class Verdict(IntEnum):
    """A judge's answer about one game."""

    NONE = -1  # no readable answer
    NO = 0
    YES = 1


class JudgeError(RunFailure):
    """Too few verdicts to learn from: how many failed, why, and what to do. Learning must stop."""


def worked_episodes(style: Style, number: int, seed: int = 0) -> Games:
    """``number`` (1..100) games of scripted partners, on training scenarios; seat_0 shows the style in every other."""
    games = scripted_games(seed, _PLAYED)
    labels = shows_style(style, games)[:, 0]
    yes, no = np.flatnonzero(labels), np.flatnonzero(~labels)
    chosen = [(yes, no)[i % 2][i // 2] for i in range(number)]
    return games.rows(np.array(chosen, dtype=np.int64))


@lru_cache(maxsize=8)
def scripted_games(seed: int, number: int) -> Games:
    """Games between scripted partners of many kinds, on training scenarios of ``lewis``."""
    source, crowd = open_source("lewis", split="train"), Mixture(of=_PLAYERS)
    return rollout((crowd, crowd), source.block(seed, 0, number), seed=seed, index=(1,))


def describe_games(games: Games, seat: int) -> list[str]:
    """Each game in words, ``[N]``, with ``seat`` as Alice."""
    names = (JUDGED, OTHER) if seat == 0 else (OTHER, JUDGED)
    counts, utilities = games.scenarios.counts.tolist(), games.scenarios.utilities.tolist()
    wholes, scores = games.scenarios.pool_values.tolist(), games.scores.tolist()
    acts, offers = games.act.tolist(), games.oA.tolist()
    texts = []
    for game in range(games.size):
        lines = [f"Pool: {describe_items(counts[game])}."]
        lines += [_values(names[side], utilities[game][side], wholes[game][side]) for side in (seat, 1 - seat)]
        for turn in range(int(games.turns[game])):
            lines.append(f"{names[turn % 2]}: {_act(acts[game][turn], offers[game][turn], counts[game])}")
        lines.append(_describe_outcome(games, game))
        lines += [
            f"{names[side]} earns {scores[game][side]} of {wholes[game][side]} points." for side in (seat, 1 - seat)
        ]
        texts.append("\n".join(lines))
    return texts


def explain_label(style: Style, games: Games, game: int, seat: int) -> str:
    """The answer to a worked episode, ``Yes, because ...``: why the game is in the style or not."""
    yes, deal = bool(shows_style(style, games)[game, seat]), bool(games.deal[game])
    answer = "Yes" if yes else "No"
    if style in (Style.COMPETITIVE, Style.PUSH_OVER):
        lead = int(score_leads(games)[game, seat])
        how = {1: "more than", 0: "exactly as much as", -1: "less than"}[lead]
        reason = f"{JUDGED} earns {how} {OTHER}"
        if not deal:
            reason = f"there is no agreement, so {JUDGED} and {OTHER} both earn 0"
        return f"{answer}, because {reason}."
    offers, different = (int(counts[game, seat]) for counts in count_offers(games))
    if offers < 2:
        reason = f"{JUDGED} makes {'only one offer' if offers else 'no offer'}"
    elif different < offers:
        reason = f"{JUDGED} offers the same split more than once"
    else:
        reason = f"{JUDGED} makes {offers} offers and never the same twice"
    return f"{answer}, because {reason}."


def _values(name: str, utilities: list[int], pool_value: int) -> str:
    values = ", ".join(f"{item} {value}" for item, value in zip(ITEMS, utilities, strict=True))
    return f"{name}'s values: {values} (everything: {pool_value} points)."


def _act(act: int, oA: Triple, counts: Triple) -> str:
    """An act in words; an offer with both sides' shares."""
    if act > Act.INSIST:
        return {Act.AGREE: "agree", Act.DISAGREE: "disagree", Act.END: "end the talk"}[Act(act)]
    claim = f"I keep {describe_items(oA)}; you get {describe_items(rest(counts, oA))}"
    return f"{'propose' if act == Act.PROPOSE else 'insist'}: {claim}"


def _describe_outcome(games: Games, game: int) -> str:
    if games.deal[game]:
        return "Outcome: agreement."
    how = {Ending.TURN_LIMIT: " (time is up)", Ending.ILLEGAL: " (a rule was broken)"}
    return f"Outcome: no agreement{how.get(Ending(int(games.ending[game])), '')}."


def read_verdict(text: str) -> Verdict:
    """The verdict by the first word of a reply, in any case. *Know* and *not* are no *no*; *yes or no* is none."""
    match = _FIRST_WORD.match(text)
    word = match[1].lower() if match and not match[2] else ""
    return {"yes": Verdict.YES, "no": Verdict.NO}.get(word, Verdict.NONE)


def prompt_header(style: Style, examples: int = EXAMPLES, seed: int = 0) -> str:
    """The common beginning of all prompts about a style: the task, and ``examples`` worked episodes."""
    worked = worked_episodes(style, examples, seed)
    parts = [TASK]
    for game, text in enumerate(describe_games(worked, 0)):
        parts.append(f"{_question(game + 1, text, style)}\nAnswer: {explain_label(style, worked, game, 0)}")
    return "\n\n".join(parts)


def question(header: str, episode: str, style: Style, examples: int = EXAMPLES) -> str:
    """The prompt about one episode, beginning with :func:`prompt_header`."""
    return f"{header}\n\n{_question(examples + 1, episode, style)}\nAnswer:"


@dataclass(eq=False)
class LLMJudge:
    """Queries a language model about each episode; its client is opened for the first.

    ``examples``: worked episodes in the prompt, drawn by ``seed``. ``re_asks``: further queries after an answer that is
    neither yes nor no. ``reading``: ``lenient`` removes one ``<think>...</think>`` and one code fence. ``tally`` counts
    ``yes``, ``no``, ``episodes``, ``asked`` (different questions), ``re_asked``, ``unjudged_<cause>`` (a client's
    :class:`Failure`, or ``unreadable``), ``let_pass_fence``, ``let_pass_thinking``, and the counts of the client.
    """

    style: Style
    open_client: Callable[[], Client]
    examples: int = EXAMPLES
    seed: int = 0
    re_asks: int = 1
    reading: Reading = "strict"
    _counted: Counter[str] = field(default_factory=Counter, init=False)

    @cached_property
    def client(self) -> Client:
        return self.open_client()

    @cached_property
    def header(self) -> str:
        return prompt_header(self.style, self.examples, self.seed)

    @property
    def tally(self) -> Counter[str]:
        return self._counted + (self.client.tally if "client" in self.__dict__ else Counter())

    def verdicts(self, games: Games, seat: int) -> Int8s:
        """A :class:`Verdict` for each game, ``[N]``. Raises what the client raises."""
        prompts = [question(self.header, text, self.style, self.examples) for text in describe_games(games, seat)]
        different = list(dict.fromkeys(prompts))
        asks = [Query(prompt, _NO_ACT) for prompt in different]

        def correct(prompt: str, result: Verdict | Failure) -> str | None:
            return f"{prompt}\n\n{NUDGE}" if result is Verdict.NONE else None

        results = query_all(self.client, asks, self._read, correct, re_asks=self.re_asks, tally=self._counted)
        result_of = dict(zip(different, results, strict=True))
        self._counted.update(episodes=len(prompts), asked=len(different))
        verdicts = np.full(len(prompts), Verdict.NONE, dtype=np.int8)
        for row, prompt in enumerate(prompts):
            result = result_of[prompt]
            if isinstance(result, Failure):
                self._counted[f"unjudged_{result}"] += 1
            elif result is Verdict.NONE:
                self._counted["unjudged_unreadable"] += 1
            else:
                verdicts[row] = result
        self._counted.update(yes=int((verdicts == Verdict.YES).sum()), no=int((verdicts == Verdict.NO).sum()))
        return verdicts

    def _read(self, _ask: Query, reply: ModelReply) -> Verdict | Failure:
        if reply.failure is not None:
            return reply.failure
        text, notes = unwrap(reply.text) if self.reading == "lenient" else (reply.text, ())
        verdict = read_verdict(text)
        if verdict is not Verdict.NONE:
            self._counted.update(notes)
        return verdict

    def close(self) -> None:
        """Close its client's connections and cache; a later episode opens them again."""
        client = self.__dict__.pop("client", None)
        if isinstance(client, CachedClient):
            client.close()
            client = client.client
        if isinstance(client, RemoteClient):
            client.close()


@dataclass(frozen=True, slots=True)
class JudgeReward:
    """A reward of 10 points for a game in the judge's style, 0 for another; without a verdict the mean."""

    judge: LLMJudge
    seats: tuple[int, ...] = (0, 1)  # seats that are judged: verdicts may cost money

    def for_seat(self, seat: int) -> JudgeReward:
        """The same reward for one seat; the pay of the other is 0 and has no meaning."""
        return JudgeReward(self.judge, (seat,))

    def __call__(self, games: Games, earned: NDArray[np.float64], _scenarios: Scenarios, /) -> NDArray[np.float64]:
        """Points of ten, ``[N, 2]``. Raises :class:`JudgeError` and what the judge raises."""
        pay = np.zeros_like(earned)
        for seat in self.seats if games.size else ():
            verdicts = self.judge.verdicts(games, seat)
            judged = verdicts != Verdict.NONE
            if judged.mean() < 1 - MOST_FAILED:
                raise JudgeError(_missing_verdicts(self.judge, int((~judged).sum()), games.size, seat))
            pay[:, seat] = np.where(judged, verdicts, verdicts[judged].mean()) * TEN
        return pay


@with_settings(
    ServiceSettings, LocalSettings,
    omit=("system", "temperature", "structure", "download", "revision", "call"),
)  # fmt: skip
def llm_judge(
    style: str,
    examples: int = EXAMPLES,
    seed: int = 0,
    provider: Provider = "groq",
    model: str | None = None,
    re_asks: int = 1,
    reading: Reading = "strict",
    batch: int = 8,
    **settings: Any,
) -> JudgeReward:
    """A reward of 10 points where a language model judges that the learner negotiated in ``style``.

    ``style``: ``versatile``, ``push_over``, ``competitive`` or ``stubborn``. ``examples`` (1..20): worked episodes in
    the prompt, drawn by ``seed``. ``provider``: ``groq``, with the key in ``$GROQ_API_KEY``; ``openai`` for any server
    that speaks OpenAI's protocol; ``hf`` for the Hugging Face model ``model`` (a folder, a GGUF file or a name that
    ``llm`` takes), which reads ``batch`` questions at once. ``re_asks``: further queries after an answer that
    is neither yes nor no. ``reading``: ``lenient`` removes one ``<think>...</think>`` and one code fence.

    The other parameters are fields of :class:`partners.llm.service.ServiceSettings` and, for ``hf``, of
    :class:`partners.llm.local.client.LocalSettings`. Nothing is opened or sent before the first episode is judged; a
    limit that is reached leaves episodes without a verdict. Raises ``ValueError``.
    """
    judged_style = style_named("style", style)
    check_whole_number("examples", examples, 1, 20)
    check_whole_number("seed", seed, 0, 2**31 - 1)
    check_whole_number("re_asks", re_asks, 0, 10)
    check_choice("reading", reading, get_args(Reading))
    check_choice("provider", provider, get_args(Provider))
    service_settings = select_settings(ServiceSettings, settings)
    service = ServiceSettings(provider, model, structure="text", system=SYSTEM, **service_settings)
    if provider == "hf" and model is None:
        raise ValueError("provider hf needs a model: the path of a folder with config.json and *.safetensors")
    if provider == "hf" and service.limits:
        raise ValueError("spending limits are for services; a model of provider hf costs time only")
    local = LocalSettings(model or "-", batch=batch, **select_settings(LocalSettings, settings))

    def client() -> Client:
        if not service.local:
            return service.with_cache(RemoteClient(service))
        return service.with_cache(WordClient(_local_client(local), SYSTEM, ("Yes", "No")))

    return JudgeReward(LLMJudge(judged_style, client, examples, seed, re_asks, reading))


def _missing_verdicts(judge: LLMJudge, failed: int, games: int, seat: int) -> str:
    causes = ", ".join(f"{name} {times}" for name, times in sorted(judge.tally.items()) if name.startswith("unjudged_"))
    return (
        f"the judge of style {judge.style} has no verdict on {failed} of {games} games of {SEATS[seat]} "
        f"(so far: {causes or 'uncounted'}), too few to learn from. Repair the service, raise its budget, or resume "
        "from the last checkpoint"
    )


def _question(number: int, episode: str, style: Style) -> str:
    return f"Episode {number}\n{episode}\nQuestion: Is {JUDGED} a {style.word} negotiator?"


@lru_cache(maxsize=1)  # judges of several styles and seeds share one model
def _local_client(settings: LocalSettings) -> LocalClient:
    return LocalClient(settings)
