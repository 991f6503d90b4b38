"""Occupants as language models by OpenAI's protocols: bodies of answers, which :mod:`dond.web.model_server` serves.

``chat/completions`` and ``responses`` take the last message of the user, which must be a prompt of this game, and
answer with one legal line of JSON; ``models`` lists the occupants. Source of the shapes: OpenAI's API reference.

A prompt is parsed by its own template, turned into a regular expression, and must be what the template makes of the
position that was read. Values that the prompt hides are zeros, as in the seat's own view. Messages are parsed.
"""

from __future__ import annotations

import json
import re
import threading
import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from dond_marl.envs.turn import only_action, only_message, turn_for, turn_of
from dond_marl.errors import InputError, quote
from dond_marl.game import Act, Action, IllegalAct, Rules, Scenario, State, Triple, apply, as_integer
from dond_marl.rollout import Noise
from dond_marl.seats import Partner
from partners.llm.prompt import (
    HIDDEN,
    SHIPPED,
    VARIABLES,
    Template,
    disagree_rule,
    load_template,
    parse_variant,
)
from partners.llm.remote.chat import content_text
from partners.llm.reply import reply_line

Document = dict[str, Any]

_TRIPLE = r"\d{1,2}(?:,\d{1,2}){2}"
_DISAGREE = {disagree_rule(rules): rules.disagree for rules in (Rules(), Rules(disagree="rejects"))}
_READ = {  # variables that are read, with their patterns; a position follows from them
    "counts_csv": _TRIPLE,
    "my_utils_csv": _TRIPLE,
    "p": f"{HIDDEN}|{_TRIPLE}",
    "max_turns": r"\d{1,3}",
    "disagree_rule": "|".join(map(re.escape, _DISAGREE)),
    "history_str": r'(?:[^"{}]|"(?:[^"\\\n]|\\.)*"){1,10000}?',  # a quoted message may hold braces, and counts as one
}
_LINE = re.compile(
    rf"\d{{1,3}}\. \w+: (?P<act>{'|'.join(act.name for act in Act)})"
    rf"(?:, \w+ keeps? (?P<keeps>{_TRIPLE}), \w+ gets? {_TRIPLE})?"
    r'(?:, and said: (?P<message>"(?:[^"\\]|\\.)*"))?'
)
_EMPTY_HISTORY = "(nothing yet)"


class UnreadPrompt(InputError):
    """A text without a prompt of this game, or a prompt of an impossible position."""


class RequestRefused(InputError):
    """A request that is not answered; ``status`` is HTTP's."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class PromptPosition(NamedTuple):
    """The position in a prompt: the state, with zeros for hidden values, and whether the partner's are revealed."""

    state: State
    revealed: bool


def read_prompt(text: str) -> PromptPosition:
    """The position of the last prompt in ``text``, written by a shipped template. Raises :class:`UnreadPrompt`."""
    for template, pattern in _patterns():
        if matches := list(pattern.finditer(text)):
            return _position(template, matches[-1], text[matches[-1].end() :])
    raise UnreadPrompt(
        "no message holds a prompt of this game: the last of the user must be the text of configs/llm_prompt.txt or "
        f"configs/llm_prompt_short.txt, filled in for a position; got {quote(text)}"
    )


class ServedOccupants:
    """``occupants`` by name as models.

    ``prior``: the scenario distribution's name, part of what the seats see. An occupant's random numbers are a function
    of the request's ``seed`` and of the values and pool of its seat, so that one prompt has one answer. Requests are
    answered by :meth:`completion` and :meth:`response`, which raise :class:`RequestRefused` and :class:`UnreadPrompt`.
    """

    def __init__(self, occupants: Mapping[str, Partner], *, prior: str = "lewis") -> None:
        self.occupants, self.prior = dict(occupants), prior
        self._occupant_lock = threading.Lock()

    def models(self) -> Document:
        """The body of ``GET /v1/models``."""
        entries = [{"id": name, "object": "model", "created": 0, "owned_by": "dond-marl"} for name in self.occupants]
        return {"object": "list", "data": entries}

    def completion(self, request: Document) -> Document:
        """The answer to a chat completion's body."""
        name, line = self._answer(request, request.get("messages"))
        message = {"role": "assistant", "content": line}
        return {
            "id": f"chatcmpl-{_number(line)}",
            "object": "chat.completion",
            "created": 0,
            "model": name,
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        }

    def response(self, request: Document) -> Document:
        """The answer to the body of ``POST /v1/responses``, whose input is a text or messages."""
        name, line = self._answer(request, request.get("input"))
        part = {"type": "output_text", "text": line, "annotations": []}
        output = {"id": f"msg_{_number(line)}", "type": "message", "status": "completed", "role": "assistant"}
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        return {
            "id": f"resp_{_number(line)}",
            "object": "response",
            "created_at": 0,
            "status": "completed",
            "model": name,
            "output": [{**output, "content": [part]}],
            "parallel_tool_calls": False,
            "tool_choice": "none",
            "tools": [],
            "usage": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0, **details},
            **dict.fromkeys(("error", "incomplete_details", "instructions", "metadata", "temperature", "top_p")),
        }

    def _answer(self, request: Document, messages: object) -> tuple[str, str]:
        """The model's name, and its line after ``messages``, which may be a text."""
        name = request.get("model")
        if not isinstance(name, str) or name not in self.occupants:
            raise RequestRefused(f"no model {quote(name)} is served here; there are {', '.join(self.occupants)}", 404)
        if request.get("n", 1) not in (1, None):
            raise RequestRefused(f"one prompt has one answer: leave out n; got {quote(request['n'])}")
        seed = as_integer(request.get("seed") or 0)
        if seed is None or seed < 0:
            raise RequestRefused(f"seed must be a whole number from 0 up; got {quote(request['seed'])}")
        prompt = messages if isinstance(messages, str) else _last_user_text(messages)
        return name, self.line(self.occupants[name], prompt, seed)

    def line(self, occupant: Partner, prompt: str, seed: int = 0) -> str:
        """The act of ``occupant`` in the position of ``prompt``, as a language model's reply."""
        position = read_prompt(prompt)
        state = position.state
        view = repr((state.mover, state.scenario.counts, state.scenario.utilities[state.mover]))
        noise = Noise(seed, (zlib.crc32(view.encode()),), 1)
        turn = turn_for(occupant, state, noise, prior=self.prior, reveal_partner_utilities=position.revealed)
        with self._occupant_lock:  # a network's forward pass takes the machine's cores by itself
            decisions = occupant.act(turn)
        message = only_message(decisions, state)
        return reply_line(only_action(decisions), round(float(decisions.confidence[0]), 6), message)


def _last_user_text(messages: object) -> str:
    """The text of the user's last message, its parts joined. Raises :class:`RequestRefused`."""
    for message in reversed(messages if isinstance(messages, list) else []):
        if isinstance(message, dict) and message.get("role") == "user":
            return content_text(message.get("content"))
    raise RequestRefused("messages (input, of a response) must be a list that holds a text of role user")


def completion_events(completion: Document) -> bytes:
    """A completion as server-sent events: the message, then the finish reason and usage."""
    message = completion["choices"][0]["message"]
    chunks = [
        {
            **completion,
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}],
            "usage": usage,
        }
        for delta, reason, usage in [({**message}, None, None), ({}, "stop", completion["usage"])]
    ]
    return b"".join(f"data: {text}\n\n".encode() for text in (*map(json.dumps, chunks), "[DONE]"))


def response_events(response: Document) -> bytes:
    """A response as server-sent events: begun, its item and part added, the text at once, and all of them done."""
    (item,) = response["output"]
    (part,) = item["content"]
    begun, empty = {**response, "status": "in_progress", "output": []}, {**part, "text": ""}
    at = {"output_index": 0, "item_id": item["id"], "content_index": 0}
    events: Iterable[tuple[str, Document]] = (
        ("created", {"response": begun}),
        ("output_item.added", {"output_index": 0, "item": {**item, "status": "in_progress", "content": []}}),
        ("content_part.added", {**at, "part": empty}),
        ("output_text.delta", {**at, "delta": part["text"], "logprobs": []}),
        ("output_text.done", {**at, "text": part["text"], "logprobs": []}),
        ("content_part.done", {**at, "part": part}),
        ("output_item.done", {"output_index": 0, "item": item}),
        ("completed", {"response": response}),
    )
    documents = [
        {"type": f"response.{kind}", "sequence_number": number, **rest} for number, (kind, rest) in enumerate(events)
    ]
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in documents)


# Each path with its method on a body, and how its answer is streamed.
ANSWERS: dict[str, tuple[Callable[[ServedOccupants, Document], Document], Callable[[Document], bytes]]] = {
    "/v1/chat/completions": (ServedOccupants.completion, completion_events),
    "/v1/responses": (ServedOccupants.response, response_events),
}


def _number(line: str) -> str:
    """The number in an answer's id."""
    return f"{zlib.crc32(line.encode()):08x}"


@lru_cache(maxsize=1)
def _patterns() -> list[tuple[Template, re.Pattern[str]]]:
    """The shipped templates that show everything, each as a regular expression with groups named like variables."""
    patterns = []
    for template in (load_template(shipped=name) for name in SHIPPED):
        pattern = re.escape(template.text.strip())
        for name, values in _READ.items():
            pattern = pattern.replace(re.escape(f"{{{name}}}"), f"(?P<{name}>{values})", 1)
        pattern = re.sub(rf"\\\{{({'|'.join(VARIABLES)})\\\}}", ".{1,80}?", pattern)  # the rest, and what is repeated
        compiled = re.compile(pattern)
        if set(_READ) == set(compiled.groupindex):
            patterns.append((template, compiled))
    return patterns


def _position(template: Template, match: re.Match[str], after: str) -> PromptPosition:
    """The position of a prompt of ``template``; ``after`` is the text after it, which explains variants."""
    length = parse_variant(after)
    fields = match.groupdict()
    is_hidden = fields["p"] == HIDDEN
    try:
        actions = _actions(fields["history_str"])
        my_values, partner_values = _triple(fields["my_utils_csv"]), (0, 0, 0) if is_hidden else _triple(fields["p"])
        values = (my_values, partner_values) if len(actions) % 2 == 0 else (partner_values, my_values)
        rules = Rules(int(fields["max_turns"]), _DISAGREE[fields["disagree_rule"]], length)
        state = State(Scenario(_triple(fields["counts_csv"]), values), rules)
        for action, message in actions:
            state = apply(state, action, message)
    except (IllegalAct, ValueError) as error:
        raise UnreadPrompt(f"the prompt is of no possible position: {error}") from None
    # Whatever else the prompt says must be what it would say of this position.
    turn = None if state.is_over else turn_of(state, prior="", reveal_partner_utilities=not is_hidden)
    if turn is None or match.group() not in template.render(turn)[0]:
        raise UnreadPrompt("the prompt is of no open game: its turns, values and acts do not fit")
    return PromptPosition(state, not is_hidden)


def _actions(history: str) -> list[tuple[Action, str]]:
    """The acts of a history with their messages. Raises ``ValueError``."""
    actions = []
    for line in [] if history == _EMPTY_HISTORY else history.split("\n"):
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"{quote(line)} is no act; the prompt must show all acts, so give it a longer history")
        action = Action(Act[match["act"]], _triple(match["keeps"] or "0,0,0"))
        actions.append((action, json.loads(match["message"] or '""')))
    return actions


def _triple(text: str) -> Triple:
    a, b, c = map(int, text.split(","))
    return a, b, c
