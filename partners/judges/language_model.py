"""A language model as the judge: a task description, a few worked episodes, the episode, the question; yes or no.

Only an answer whose first word is *yes* or *no* counts; equal episodes are asked about once. Source: Kwon et al. 2023
(arXiv 2303.00001), section 3 and appendix A.1, for the parts of the prompt and their order; the words are ours.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from dond_marl.batch import Games
from dond_marl.errors import quote
from dond_marl.seats import Int8s
from partners.judges.episodes import JUDGED, OTHER, describe_games, explain_label, worked_episodes
from partners.judges.judge import JudgeReward, Verdict, count_verdicts
from partners.judges.styles import Style, style_named
from partners.judges.yes_no_model import YesNoClient
from partners.llm.budget import Cost, Limits
from partners.llm.cache import CachedClient, Mode
from partners.llm.client import Client, Failure, ModelReply, Query, query_all
from partners.llm.local.client import Dtype
from partners.llm.remote.client import RemoteClient
from partners.llm.reply import Legal, Reading, unwrap
from partners.llm.service import ServiceSettings
from partners.parameters import check_whole_number

Provider = Literal["groq", "openai", "hf"]
EXAMPLES = 3  # worked episodes, as in the paper
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
    """The first word of a reply, whole, in any case. *Know* and *not* are no *no*; *yes or no* is no verdict."""
    match = _FIRST_WORD.match(text)
    word = match[1].lower() if match and not match[2] else ""
    return {"yes": Verdict.YES, "no": Verdict.NO}.get(word, Verdict.NONE)


def prompt_header(style: Style, examples: int = EXAMPLES, seed: int = 0) -> str:
    """The beginning of every question about a style: the task, and ``examples`` worked episodes."""
    worked = worked_episodes(style, examples, seed)
    parts = [TASK]
    for game, text in enumerate(describe_games(worked.games, worked.seat)):
        parts.append(
            f"{_asked(game + 1, text, style)}\nAnswer: {explain_label(style, worked.games, game, worked.seat)}"
        )
    return "\n\n".join(parts)


def question(beginning: str, episode: str, style: Style, examples: int = EXAMPLES) -> str:
    """The whole prompt about one episode, after :func:`header`."""
    return f"{beginning}\n\n{_asked(examples + 1, episode, style)}\nAnswer:"


class LLMJudge:
    """Asks ``client()`` about each episode; made when the first is judged, so that naming a judge opens nothing.

    ``examples``: worked episodes in the prompt, picked by ``seed``. ``re_asks``: how often an answer that is neither
    yes nor no is asked for again. ``reading``: ``lenient`` lets one ``<think>...</think>`` and one code fence pass.
    ``tally`` counts ``yes``, ``no``, ``episodes``, ``asked`` (different questions), ``re_asked``, ``unjudged_<cause>``
    (a client's :class:`Failure`, or ``unreadable``), ``let_pass_fence``, ``let_pass_thinking``, and what the client
    counts.
    """

    def __init__(
        self,
        style: Style,
        client: Callable[[], Client],
        *,
        examples: int = EXAMPLES,
        seed: int = 0,
        re_asks: int = 1,
        reading: Reading = "strict",
    ) -> None:
        self.style, self.examples, self.seed, self.re_asks = style, examples, seed, re_asks
        self.reading = reading
        self._open = client
        self._counted: Counter[str] = Counter()

    @cached_property
    def client(self) -> Client:
        return self._open()

    @cached_property
    def header(self) -> str:
        return prompt_header(self.style, self.examples, self.seed)

    @property
    def tally(self) -> Counter[str]:
        return self._counted + (self.client.tally if "client" in self.__dict__ else Counter())

    @property
    def spent(self) -> Cost:
        """Requests, tokens and money since it was made; what a cache answered costs nothing."""
        client = _behind_cache(self.__dict__.get("client"))
        return client.budget.spent if isinstance(client, RemoteClient) else Cost()

    def verdicts(self, games: Games, seat: int) -> Int8s:
        """A :class:`Verdict` for each game, ``[N]``. Raises what the client raises."""
        prompts = [question(self.header, text, self.style, self.examples) for text in describe_games(games, seat)]
        different = list(dict.fromkeys(prompts))
        asks = [Query(prompt, _NO_ACT) for prompt in different]
        results = query_all(self.client, asks, self._read, _reworded, re_asks=self.re_asks, tally=self._counted)
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
        text, noted = unwrap(reply.text) if self.reading == "lenient" else (reply.text, ())
        verdict = read_verdict(text)
        if verdict is not Verdict.NONE:
            self._counted.update(noted)
        return verdict

    def close(self) -> None:
        """Close its client's connections and cache; a later episode opens them again."""
        client = self.__dict__.pop("client", None)
        if isinstance(client, CachedClient):
            client.cache.close()
        service = _behind_cache(client)
        if isinstance(service, RemoteClient):
            service.close()


def llm_judge(
    style: str,
    examples: int = EXAMPLES,
    seed: int = 0,
    provider: Provider = "groq",
    model: str | None = None,
    base_url: str | None = None,
    key_env: str | None = None,
    re_asks: int = 1,
    reading: Reading = "strict",
    extra: dict[str, Any] | None = None,
    max_tokens: int = 1024,
    in_flight: int = 32,
    timeout_s: float = 60.0,
    deadline_s: float | None = None,
    max_attempts: int = 4,
    breaker_after: int = 5,
    requests_per_minute: int | None = None,
    tokens_per_minute: int | None = None,
    max_requests: int | None = None,
    max_total_tokens: int | None = None,
    max_usd: float | None = None,
    max_seconds: float | None = None,
    prompt_price: float | None = None,
    completion_price: float | None = None,
    cache: str | None = None,
    cache_mode: Mode = "off",
    batch: int = 8,
    device: str = "cpu",
    dtype: Dtype = "auto",
) -> JudgeReward:
    """Ten points where a language model says that the learner negotiated in ``style``.

    ``examples`` (1..20) worked episodes are in the prompt, chosen by ``seed``. ``provider``: ``groq``, with the key in
    ``$GROQ_API_KEY``; ``openai`` for any server that speaks OpenAI's protocol at ``base_url``, with a key in
    ``$key_env`` if it needs one; ``hf`` for the Hugging Face model ``model`` (a folder, a GGUF file or a name that
    ``llm`` takes), read on ``device`` in ``dtype`` and in batches of ``batch`` questions. The rest is as for the
    occupant ``llm``; a limit that is reached leaves episodes unjudged. Nothing is opened, read or sent before the first
    episode is judged. Raises ``ValueError``.
    """
    judged_style = style_named("style", style)
    check_whole_number("examples", examples, 1, 20)
    check_whole_number("seed", seed, 0, 2**31 - 1)
    check_whole_number("re_asks", re_asks, 0, 10)
    if reading not in get_args(Reading):
        raise ValueError(f"reading must be one of {', '.join(get_args(Reading))}; got {quote(reading)}")
    if provider not in get_args(Provider):
        raise ValueError(f"provider must be one of {', '.join(get_args(Provider))}; got {quote(provider)}")
    service = ServiceSettings(
        provider, model, base_url, key_env, 0.0, max_tokens, "text", extra, in_flight, requests_per_minute,
        tokens_per_minute, max_requests, max_total_tokens, max_usd, max_seconds, prompt_price, completion_price,
        cache, cache_mode, SYSTEM, timeout_s, deadline_s, max_attempts, breaker_after,
    )  # fmt: skip
    if provider == "hf" and model is None:
        raise ValueError("provider hf needs a model: the path of a folder with config.json and *.safetensors")
    if provider == "hf" and service.limits != Limits():
        raise ValueError("limits of what may be spent are for services; a model of provider hf costs time alone")
    local = YesNoClient("-" if model is None else model, SYSTEM, batch=batch, device=device, dtype=dtype)

    def client() -> Client:
        return service.with_cache(local if service.local else RemoteClient(service))

    return JudgeReward(LLMJudge(judged_style, client, examples=examples, seed=seed, re_asks=re_asks, reading=reading))


def _behind_cache(client: Client | None) -> Client | None:
    return client.client if isinstance(client, CachedClient) else client


def _asked(number: int, episode: str, style: Style) -> str:
    return f"Episode {number}\n{episode}\nQuestion: Is {JUDGED} a {style.word} negotiator?"


def _reworded(prompt: str, result: Verdict | Failure) -> str | None:
    return f"{prompt}\n\n{NUDGE}" if result is Verdict.NONE else None
