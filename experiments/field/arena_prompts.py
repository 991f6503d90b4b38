"""The prompts of Kaggle's arena as prompts of ours: its words about the game and the goal, our acts and our reply.

They are read from the installed kaggle-environments (``games/bargaining/prompt_variants.py``, Apache 2.0), which is not
run; none of its text is part of this project. What our prompts have no variable for, which player one is and how many
offers were made, is left out or said as we say it: turns that remain, acts that are open. Items are in our order.
"""

from __future__ import annotations

import ast
import re
from importlib.util import find_spec
from pathlib import Path

from dond_marl.errors import InputError
from partners.llm.prompt import Template

VARIANTS = ("baseline", "compact", "minimal", "minimal_with_goal", "generic")  # of the arena, those with own words
FILE = Path("envs") / "open_spiel_env" / "games" / "bargaining" / "prompt_variants.py"
_FIELDS = {
    "pool_lines": "  {items}: {{counts_csv}}",
    "my_value_lines": "  {items}: {{my_utils_csv}}",
    "pool_inline": "{items}: {{counts_csv}}",
    "values_inline": "{items}: {{my_utils_csv}}",
    "history_str": "{{history_str}}",
    "max_turns": "{{max_turns}}",
    "discount_note": "",
    "accept_help": "The opponent's latest offer leaves you {{last_offer_csv}}. Acts open to you now: {{legal_acts}}.",
    "player_label": "",
}
_COUNTED = (  # sentences with what we have no variable for, and what is said instead
    (re.compile(r"Offers used so far: \{num_offers\} of \{max_turns\}\. Offers remaining\s+\(.*?\): \{turns_left\}\."),
     "Turns remaining, this one included: {turns} of {max_turns}."),
    (re.compile(r" \(\{num_offers\}/\{max_turns\} offers used\)"), ""),
    (re.compile(r"You are Player \{player_label\}\. |,? ?You are Player \{player_label\}\.|Player \{player_label\}\."),
     ""),
)  # fmt: skip
_REPLY = re.compile(r"Respond with your reasoning.*", re.DOTALL)
ANSWER = (
    "Lists are in the order {items}. To OFFER, answer with act_type 0 and oA what YOU keep; to AGREE, with act_type 2 "
    "and oA [0, 0, 0].\nReturn ONLY one JSON object on a single line, such as "
    '{"act_type": 0, "oA": [1, 0, 1], "confidence": 0.7}: act_type, oA within the pool, confidence 0-1.\n'
)


def prompts(path: Path | None = None) -> dict[str, Template]:
    """The arena's prompts by name, from its file, by default the installed one. Raises :class:`InputError`."""
    file = _installed() if path is None else path
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError) as error:
        raise InputError(f"{file}: cannot be read as the arena's prompts ({error})") from None
    texts = {
        node.targets[0].id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    }
    found = {}
    for name in VARIANTS:
        text = texts.get(f"_{name.upper()}_TEMPLATE")
        if text is None or not _REPLY.search(text):
            raise InputError(f"{file}: holds no prompt {name}; kaggle-environments 1.33 does")
        found[name] = Template(
            ours(text, "A, B, C" if name == "generic" else "Book, Hat, Basketball"), f"{file}: {name}"
        )
    return found


def ours(text: str, items: str) -> str:
    """One of the arena's texts with our variables in it, and our way to answer."""
    body = _REPLY.sub("", text)
    for pattern, instead in _COUNTED:
        body = pattern.sub(instead, body)
    for field, said in _FIELDS.items():
        body = body.replace(f"{{{field}}}", said.format(items=items) if field != "max_turns" else "{max_turns}")
    body = body.replace("{{", "{").replace("}}", "}")
    return f"{body.strip()}\n\n{ANSWER.replace('{items}', items)}"


def _installed() -> Path:
    spec = find_spec("kaggle_environments")
    folders = [] if spec is None else [Path(place) for place in spec.submodule_search_locations or ()]
    for folder in folders:
        if (folder / FILE).is_file():
            return folder / FILE
    raise InputError("Kaggle's arena is not installed: pip install kaggle-environments, in an environment of its own")
