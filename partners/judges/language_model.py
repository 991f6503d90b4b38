"""A language model as the judge: a task description, a few worked episodes, the episode, the question; yes or no.

An answer counts if its first word is *yes* or *no*; equal episodes are queried once. Source: Kwon et al. 2023 (arXiv
2303.00001), section 3 and appendix A.1, for the parts of the prompt and their order; the text is ours.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from dond_marl.batch import Games
from dond_marl.seats import Doubles, Int8s
from partners.judges.episodes import JUDGED, OTHER, describe_games, explain_label, worked_episodes
from partners.judges.judge import EXAMPLES, JudgeReward, Verdict, count_verdicts
from partners.judges.styles import Style, style_named
from partners.llm.budget import Cost, Limits
from partners.llm.cache import CachedClient, uncached_client
from partners.llm.client import Client, Failure, ModelReply, Query, SetupError, Usage, query_all
from partners.llm.local.client import LocalSettings
from partners.llm.remote.client import RemoteClient
from partners.llm.reply import Legal, Reading, unwrap
from partners.llm.service import ServiceSettings, select_settings, with_settings
from partners.parameters import check_choice, check_whole_number

if TYPE_CHECKING:
    from partners.llm.local.files import Dtype
    from partners.llm.local.key_values import KeyValueState
    from partners.llm.local.model import LocalModel

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
_YES_NO = ("Yes", "No")
_PREFIX_STEP = 32  # tokens: prefixes are cached in multiples of it, so that most calls share one; shorter ones are not
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

    @property
    def cost(self) -> Cost:
        """Requests, tokens and money since its creation; replies from a cache cost nothing."""
        client = uncached_client(self.client) if "client" in self.__dict__ else None
        return client.budget.spent if isinstance(client, RemoteClient) else Cost()

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
            client.cache.close()
            client = client.client
        if isinstance(client, RemoteClient):
            client.close()


@with_settings(
    ServiceSettings, LocalSettings,
    omit=("system", "temperature", "structure", "remembered", "download", "revision", "adapter"),
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
    given = select_settings(ServiceSettings, settings)
    service = ServiceSettings(provider, model, structure="text", system=SYSTEM, **given)
    if provider == "hf" and model is None:
        raise ValueError("provider hf needs a model: the path of a folder with config.json and *.safetensors")
    if provider == "hf" and service.limits != Limits():
        raise ValueError("spending limits are for services; a model of provider hf costs time only")
    local = YesNoClient(LocalSettings(model or "-", batch=batch, **select_settings(LocalSettings, settings)), SYSTEM)

    def client() -> Client:
        return service.with_cache(local if service.local else RemoteClient(service))

    return JudgeReward(LLMJudge(judged_style, client, examples, seed, re_asks, reading))


def _question(number: int, episode: str, style: Style) -> str:
    return f"Episode {number}\n{episode}\nQuestion: Is {JUDGED} a {style.word} negotiator?"


def _with_nudge(prompt: str, result: Verdict | Failure) -> str | None:
    return f"{prompt}\n\n{NUDGE}" if result is Verdict.NONE else None


class YesNoClient:
    """A :class:`partners.llm.client.Client` that replies ``Yes`` or ``No``, whichever a local model finds likelier.

    The model is loaded for the first question, and nothing is sent anywhere. ``system`` is put before the prompt where
    the model has a chat template. The common beginning of all prompts of a call is read once, and cached for the next
    call. ``tally`` counts ``replies``, ``prompt_tokens`` and ``read_tokens``, the tokens that the model processed.
    """

    remote = False

    def __init__(self, settings: LocalSettings, system: str) -> None:
        self.settings, self.system = settings, system
        self.tally: Counter[str] = Counter()
        self._prefix: tuple[list[int], KeyValueState | None] = ([], None)

    def __getstate__(self) -> dict[str, Any]:
        """The state without the cached prefix, which a copy reads again."""
        return {**self.__dict__, "_prefix": ([], None)}

    @cached_property
    def identity(self) -> Mapping[str, object]:
        """The SHA-256 of the model's files, wherever they are, and its instructions."""
        from partners.llm.local.model import fingerprint

        model, dtype = fingerprint(Path(self.settings.model).expanduser()), self.settings.dtype
        identity = {"model": model, "system": self.system, "answers": list(_YES_NO)}
        return identity if dtype == "auto" else {**identity, "dtype": dtype}

    def complete(self, asks: Sequence[Query]) -> list[ModelReply]:
        """``Yes`` or ``No`` to each prompt, with its probability. Raises :class:`SetupError`."""
        prompts = [self._tokens(ask.prompt) for ask in asks]
        likely = np.zeros(len(asks))
        prefix = self._common_prefix(prompts)
        order = sorted(range(len(asks)), key=lambda row: len(prompts[row]))
        for start in range(0, len(order), self.settings.batch):
            rows = order[start : start + self.settings.batch]
            likely[rows] = self._yes_probability([prompts[row] for row in rows], prefix)
        self.tally.update(replies=len(asks), prompt_tokens=sum(map(len, prompts)))
        return [
            ModelReply(
                f"{_YES_NO[0] if yes > 0.5 else _YES_NO[1]}. ({max(yes, 1 - yes):.4f})", usage=Usage(len(prompt), 1)
            )
            for yes, prompt in zip(likely.tolist(), prompts, strict=True)
        ]

    @property
    def _local(self) -> LocalModel:
        return _load(self.settings.model, self.settings.device, self.settings.dtype)

    @cached_property
    def _answers(self) -> tuple[list[int], int, int]:
        """The tokens that both words begin with, and the first tokens in which yes and no differ."""
        space = "" if self._local.tokenizer.chat_template else " "  # a prompt ends with a colon, a chat with a new line
        yes, no = self._local.encode([space + word for word in _YES_NO])
        differ = [place for place, tokens in enumerate(zip(yes, no, strict=False)) if len(set(tokens)) == 2]
        if not differ:
            raise SetupError(f"the model {self.settings.model} writes yes and no with the same tokens; name another")
        return yes[: differ[0]], yes[differ[0]], no[differ[0]]

    def _tokens(self, prompt: str) -> list[int]:
        if self._local.tokenizer.chat_template:
            prompt = self._local.render_chat([{"role": "user", "content": f"{self.system}\n\n{prompt}"}])
        tokens = [*self._local.encode([prompt])[0], *self._answers[0]]
        longest = self._local.longest
        if longest is not None and len(tokens) > longest:
            raise SetupError(
                f"the model {self.settings.model} reads at most {longest} tokens, and a judge's question takes "
                f"{len(tokens)}: use fewer examples, or name another model"
            )
        return tokens

    def _common_prefix(self, prompts: Sequence[list[int]]) -> tuple[int, KeyValueState | None]:
        """The number of first tokens that all prompts share, and their state; 0 if too few to cache."""
        from partners.llm.local.key_values import KeyValueState, allows_gaps, shares_prefixes

        first, last = min(prompts, default=[]), max(prompts, default=[])  # tokens that these two share, all share
        length = next((place for place, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), 0)
        model = self._local.model
        length -= length % _PREFIX_STEP
        if not length or not shares_prefixes(model) or not allows_gaps(model, max(map(len, prompts))):
            return 0, None
        tokens, state = self._prefix
        # Cut to this call's own length, so that answers do not depend on earlier calls.
        if state is None or first[:length] != tokens:
            tokens, state = first[:length], KeyValueState(model)
            state.go_on([tokens])
            self.tally["read_tokens"] += state.tokens
            self._prefix = tokens, state
        return len(tokens), state

    def _yes_probability(self, prompts: Sequence[list[int]], prefix: tuple[int, KeyValueState | None]) -> Doubles:
        """The probability of yes against no after each prompt, ``[B]``."""
        import torch

        from partners.llm.local.key_values import KeyValueState

        _, yes, no = self._answers
        length, state = prefix
        fork = KeyValueState(self._local.model) if state is None else state.fork()
        rest = [prompt[length:] for prompt in prompts]
        logits = fork.go_on(rest, None if state is None else [0] * len(rest))[:, [yes, no]]
        self.tally["read_tokens"] += fork.tokens
        return torch.softmax(logits.double(), dim=1)[:, 0].cpu().numpy()


@lru_cache(maxsize=1)  # judges of several styles and seeds share one model
def _load(model: str, device: str, dtype: Dtype) -> LocalModel:
    from partners.llm.local.model import load_model

    return load_model(model, device=device, dtype=dtype)
