"""A language model as the judge: a task description, a few worked episodes, the episode, the question; yes or no.

An answer counts if its first word is *yes* or *no*; equal episodes are queried once. Source: Kwon et al. 2023 (arXiv
2303.00001), section 3 and appendix A.1, for the parts of the prompt and their order; the text is ours.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal, get_args

import numpy as np

from dond_marl.batch import Games
from dond_marl.seats import Int8s
from partners.judges.episodes import JUDGED, OTHER, describe_games, explain_label, worked_episodes
from partners.judges.judge import EXAMPLES, JudgeReward, Verdict, count_verdicts
from partners.judges.styles import Style, style_named
from partners.llm.budget import Limits
from partners.llm.cache import CachedClient
from partners.llm.client import Client, Failure, ModelReply, Query, query_all
from partners.llm.local.client import LocalClient, LocalSettings, WordClient
from partners.llm.remote.client import RemoteClient
from partners.llm.reply import Legal, Reading, unwrap
from partners.llm.service import ServiceSettings, select_settings, with_settings
from partners.parameters import check_choice, check_whole_number

Provider = Literal["groq", "openai", "hf"]
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


def read_verdict(text: str) -> Verdict:
    """The verdict by the first word of a reply, in any case. *Know* and *not* are no *no*; *yes or no* is none."""
    match = _FIRST_WORD.match(text)
    word = match[1].lower() if match and not match[2] else ""
    return {"yes": Verdict.YES, "no": Verdict.NO}.get(word, Verdict.NONE)


def prompt_header(style: Style, examples: int = EXAMPLES, seed: int = 0) -> str:
    """The common beginning of all prompts about a style: the task, and ``examples`` worked episodes."""
    worked = worked_episodes(style, examples, seed)
    parts = [TASK]
    for game, text in enumerate(describe_games(worked.games, worked.seat)):
        parts.append(
            f"{_question(game + 1, text, style)}\nAnswer: {explain_label(style, worked.games, game, worked.seat)}"
        )
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
        results = query_all(self.client, asks, self._read, _with_nudge, re_asks=self.re_asks, tally=self._counted)
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
        return count_verdicts(self._counted, verdicts)

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


@with_settings(
    ServiceSettings, LocalSettings,
    omit=("system", "temperature", "structure", "download", "revision"),
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
    if provider == "hf" and service.limits != Limits():
        raise ValueError("spending limits are for services; a model of provider hf costs time only")
    local = LocalSettings(model or "-", batch=batch, **select_settings(LocalSettings, settings))

    def client() -> Client:
        if not service.local:
            return service.with_cache(RemoteClient(service))
        return service.with_cache(WordClient(_local_client(local), SYSTEM, ("Yes", "No")))

    return JudgeReward(LLMJudge(judged_style, client, examples, seed, re_asks, reading))


def _question(number: int, episode: str, style: Style) -> str:
    return f"Episode {number}\n{episode}\nQuestion: Is {JUDGED} a {style.word} negotiator?"


def _with_nudge(prompt: str, result: Verdict | Failure) -> str | None:
    return f"{prompt}\n\n{NUDGE}" if result is Verdict.NONE else None


@lru_cache(maxsize=1)  # judges of several styles and seeds share one model
def _local_client(settings: LocalSettings) -> LocalClient:
    return LocalClient(settings)
