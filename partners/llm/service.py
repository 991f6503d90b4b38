"""Settings of a language model service, shared by the occupant ``llm`` and the reward ``llm_judge``.

:func:`with_settings` gives both their flat keyword parameters from the fields declared here.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast, get_args
from urllib.parse import urlsplit

from dond_marl.errors import quote
from dond_marl.occupants import is_plain_name
from partners.llm.budget import Cost
from partners.llm.cache import CachedClient, Mode
from partners.llm.client import Client, SetupError
from partners.llm.prompt import SYSTEM
from partners.parameters import Range, check_choice, check_fields, check_number

GROQ_URL = "https://api.groq.com/openai/v1"
GROQ_KEY = "GROQ_API_KEY"
GROQ_MODEL = "openai/gpt-oss-20b"  # served in November 2026; Groq's Llama models were shut down in August
# Names of the limit of tokens, indexed by ServiceSettings.groq: OpenAI's older one, and its and Groq's since 2024. The
# older one is tried first, as servers that know no other would ignore the newer one, and write without a limit.
TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")
STRICT = ("openai/gpt-oss-20b", "openai/gpt-oss-120b")  # models that Groq decodes under a schema
# Fields that make a reasoning model brief, or reasoning uses up the tokens of the answer. Source: Groq's documentation
# of reasoning, November 2026: gpt-oss takes low, medium and high and can leave its reasoning out; Qwen 3 takes none.
_BRIEF: dict[str, dict[str, Any]] = {
    "openai/gpt-oss-": {"reasoning_effort": "low", "include_reasoning": False},
    "qwen/qwen3": {"reasoning_effort": "none"},
}

Factory = TypeVar("Factory", bound=Callable[..., Any])
PerMinute = Annotated[int, Range(1, 10**9)]
Count = Annotated[int, Range(0, 10**15)]
NonNegative = Annotated[float, Range(0)]
Provider = Literal["auto", "groq", "openai", "hf", "python"]
Structure = Literal["auto", "json_schema", "json_object_schema", "json_object", "text"]


@dataclass(frozen=True)
class ServiceSettings:
    """Settings of a language model: which model, where, how it is queried, and the budget. Raises ``ValueError``.

    Parameters
    ----------
    provider
        ``groq``; ``openai``, any OpenAI-compatible server at ``base_url``; ``hf``, a model on this machine, for which
        the fields about a service are checked but do nothing; ``python``, the function ``call``; or ``auto``: ``groq``
        if there is a key, else ``hf``.
    model
        Name of the model, by default :data:`GROQ_MODEL`.
    base_url
        Address of the server, up to its ``/v1``; with ``groq`` a gateway that replaces Groq and gets its key.
    key_env
        Environment variable with the key, by default Groq's for Groq and none for other servers, so that no key goes to
        a server that it was not made for.
    call
        Of ``python`` the function in a file, ``mine.py:reply`` (:class:`partners.llm.remote.client.FunctionClient`).
    temperature
        Of sampling, 0 for none.
    max_tokens
        Of one answer, reasoning included; the bound of a request's cost, so ``extra`` cannot change it.
    structure
        Mode of structured output (:mod:`partners.llm.remote.chat`); ``auto`` follows Groq's documentation for its
        models, and probes any other server.
    extra
        Further fields of the request, in addition to those that make reasoning models brief; null removes a field.
    in_flight
        The most requests at a time (:class:`partners.llm.remote.client.Limiter`).
    requests_per_minute, tokens_per_minute
        Own rate limits, ``None`` for none.
    max_requests, max_total_tokens, max_usd, max_seconds
        Budget of each process, ``None`` for no limit; ``max_usd`` needs both prices.
    prompt_price, completion_price
        US dollars per million tokens.
    cache, cache_mode
        File of recorded replies; ``record`` adds missing replies, ``replay`` contacts no server, ``off`` uses no cache.
    system
        System message of every request.
    timeout_s
        Seconds for one request.
    deadline_s
        Seconds for all attempts of a query with the waits between them, by default twice ``timeout_s``.
    max_attempts
        Requests for one query.
    breaker_after
        Failures in a row after which the service is not contacted for a while.
    """

    provider: Provider = "groq"
    model: str | None = None
    base_url: str | None = None
    key_env: str | None = None
    call: str | None = None
    temperature: Annotated[float, Range(0, 2)] = 0.0
    max_tokens: Annotated[int, Range(16, 100_000)] = 1024
    structure: Structure = "auto"
    extra: Mapping[str, Any] | None = None
    in_flight: Annotated[int, Range(1, 1000)] = 32
    requests_per_minute: PerMinute | None = None
    tokens_per_minute: PerMinute | None = None
    max_requests: Count | None = None
    max_total_tokens: Count | None = None
    max_usd: NonNegative | None = None
    max_seconds: NonNegative | None = None
    prompt_price: NonNegative | None = None
    completion_price: NonNegative | None = None
    cache: str | Path | None = None
    cache_mode: Mode = "off"
    system: str = SYSTEM
    timeout_s: Annotated[float, Range(0, 86_400, above=True)] = 60.0
    deadline_s: float | None = None
    max_attempts: Annotated[int, Range(1, 100)] = 4
    breaker_after: Annotated[int, Range(1, 1000)] = 5

    def __post_init__(self) -> None:
        provider, url = self.provider, self.base_url
        check_choice("provider", provider, get_args(Provider))
        if (provider == "openai" and url is None) or (provider in ("hf", "auto", "python") and url is not None):
            raise ValueError(
                f"provider openai needs a base_url, groq may have one, and no other takes one; "
                f"got {provider} with {quote(url)}"
            )
        if (provider == "python") != (self.call is not None) or (provider == "python" and self.model is not None):
            raise ValueError(
                "provider python needs call, a function in a file, as in call='mine.py:reply', and takes no model; no "
                f"other takes a call; got {provider} with call {quote(self.call)} and model {quote(self.model)}"
            )
        if provider == "auto" and self.model is not None:
            raise ValueError(f"model {quote(self.model)} needs its provider: groq, openai or hf")
        if self.max_usd is not None and (self.prompt_price is None or self.completion_price is None):
            raise ValueError("max_usd needs prompt_price and completion_price, in US dollars per million tokens")
        with_file = isinstance(self.cache, str | Path)
        if self.cache_mode not in get_args(Mode) or (self.cache_mode != "off" and not with_file):
            raise ValueError(
                f"cache_mode must be off, or record or replay with a cache, the path of a file; got "
                f"{quote(self.cache_mode)} with cache {quote(self.cache)}"
            )
        if not isinstance(self.name, str) or not self.name.strip():
            raise ValueError(f"model must be the name of a model, such as {GROQ_MODEL}; got {quote(self.model)}")
        if url is not None:
            _check_url(url)
        if self.key_env is not None and not is_plain_name(self.key_env):
            # A key given in place of a name must not be quoted.
            raise ValueError("key_env must be the name of an environment variable, not the key itself")
        check_choice("structure", self.structure, get_args(Structure))
        check_fields(self)
        extra = {} if self.extra is None else self.extra
        if not isinstance(extra, Mapping) or extra.keys() & {*TOKEN_LIMITS, "n"}:
            raise ValueError(
                f"extra must be fields of a request but n and the limit, which is max_tokens=N; got {quote(extra)}"
            )
        if self.deadline_s is not None:
            check_number("deadline_s", self.deadline_s, self.timeout_s, 10 * 86_400)

    @property
    def local(self) -> bool:
        return resolve_provider(self.provider) == "hf"

    @property
    def name(self) -> str:
        return self.call or GROQ_MODEL if self.model is None else self.model

    @property
    def groq(self) -> bool:
        return self.provider not in ("openai", "python")

    @property
    def url(self) -> str:
        return GROQ_URL if self.base_url is None else self.base_url

    @property
    def key_variable(self) -> str | None:
        """The environment variable that holds the key, ``None`` for a server that needs none."""
        return self.key_env if self.key_env is not None or not self.groq else GROQ_KEY

    @property
    def total_s(self) -> float:
        """Seconds for all attempts of a query, with the waits between them."""
        return 2 * self.timeout_s if self.deadline_s is None else self.deadline_s

    @property
    def limits(self) -> dict[str, Any]:
        """The limits of a :class:`partners.llm.budget.Budget` that are set."""
        limits = {
            "requests": self.max_requests,
            "tokens": self.max_total_tokens,
            "usd": self.max_usd,
            "seconds": self.max_seconds,
        }
        return {name: most for name, most in limits.items() if most is not None}

    def cost(self, prompt_tokens: int, completion_tokens: int) -> Cost:
        """The cost of one request with so many tokens, by the user's own prices: list prices change."""
        prices = (self.prompt_price or 0.0, self.completion_price or 0.0)
        prompt, completion = (round(price * 10**6) for price in prices)  # as pico-dollars per token
        return Cost(1, prompt_tokens + completion_tokens, prompt_tokens * prompt + completion_tokens * completion)

    @property
    def structure_mode(self) -> Structure:
        """The mode of structured output without probing; ``text`` for a server that is probed, also in a replay."""
        if self.structure != "auto":
            return self.structure
        if not self.groq:
            return "text"
        return "json_schema" if self.name in STRICT else "json_object"

    @property
    def request_fields(self) -> dict[str, Any]:
        """Further fields of the request; ``None`` removes one."""
        brief = next((fields for name, fields in _BRIEF.items() if self.groq and self.name.startswith(name)), {})
        return {**brief, **(self.extra or {})}

    @property
    def probes_structure(self) -> bool:
        """Whether the server is probed for its mode of structured output."""
        return self.structure == "auto" and self.provider == "openai"

    def identity(self) -> dict[str, object]:
        """The parameters that shape a service's answers: all of a request but prompt, legal acts and sample."""
        return {
            "model": self.name,
            "system": self.system,
            "structure": self.structure_mode,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "extra": self.request_fields,
        }

    def with_cache(self, client: Client) -> Client:
        """``client`` behind the cache, if there is one. Raises :class:`partners.llm.cache.CacheError`."""
        if self.cache_mode == "off" or self.cache is None:
            return client
        return CachedClient(client, self.cache, self.cache_mode)


def with_settings(*kinds: type, omit: tuple[str, ...] = ()) -> Callable[[Factory], Factory]:
    """A decorator that replaces ``**settings`` in a signature by the fields of these dataclasses, without ``omit``.

    Parameters of the function itself come first, and hide fields of their names. So users pass flat keywords, errors
    and catalogues list them, and each is declared once.
    """

    def decorate(factory: Factory) -> Factory:
        signature = inspect.signature(factory)
        parameters = {
            name: parameter
            for name, parameter in signature.parameters.items()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        }
        for field in (field for kind in kinds for field in fields(kind) if field.name not in omit):
            if field.name not in parameters:
                default = inspect.Parameter.empty if field.default is MISSING else field.default
                parameters[field.name] = inspect.Parameter(
                    field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=field.type
                )
        flat = signature.replace(parameters=list(parameters.values()))

        @wraps(factory)
        def wrapper(*args: Any, **arguments: Any) -> Any:
            flat.bind(*args, **arguments)  # raises TypeError for an unknown name
            return factory(*args, **arguments)

        wrapper.__signature__ = flat  # type: ignore[attr-defined]
        return cast(Factory, wrapper)

    return decorate


def select_settings(kind: type, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The part of ``settings`` that are fields of the dataclass ``kind``."""
    return {field.name: settings[field.name] for field in fields(kind) if field.name in settings}


def resolve_provider(provider: Provider) -> Provider:
    """``provider``, with ``auto`` replaced by the one for this machine and environment."""
    if provider != "auto":
        return provider
    return "groq" if os.environ.get(GROQ_KEY) else "hf"


def read_key(variable: str | None) -> str:
    """The key in an environment variable, empty for ``None``. Raises :class:`SetupError`, without showing it."""
    if variable is None:
        return ""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise SetupError(f"there is no key in ${variable}: export {variable}=..., or choose a model that needs none")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise SetupError(f"the value of ${variable} is no key: it has spaces or characters that no key has")
    return key


def _check_url(url: str) -> None:
    rule = "base_url must be an http or https address such as http://127.0.0.1:8000/v1"
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises if it is not a number
    except (ValueError, AttributeError):
        raise ValueError(rule) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(rule)
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ValueError(f"{rule}, without a user, a query or a fragment; keys belong into the environment")
