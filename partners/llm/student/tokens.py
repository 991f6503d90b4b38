"""Tokens made for one prompt template: what never changes in it is one token, so a long prompt is a short sequence.

Numbers in lists keep the comma before them, numbers of several digits are read digit by digit but for 10, and anything
else is read byte by byte: the tokens can write every text, and give every text back.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from dond_marl.game import Act, Rules
from partners.llm.prompt import HIDDEN, NONE_YET, Template, disagree_rule, fixed_parts

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

PAD, END = "<pad>", "<end>"
_NUMBERS = ("10", *"0123456789")
_SPACE = "\u0120"  # how byte-level tokens write one


def prompt_tokenizer(template: Template) -> PreTrainedTokenizerFast:
    """A tokenizer for prompts of ``template`` and for the replies to them."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    comma = f",{_SPACE}"
    merges = [("1", "0"), *((",", number) for number in _NUMBERS), (",", _SPACE)]
    merges += [(comma, number) for number in _NUMBERS]
    known = [PAD, END, *sorted(pre_tokenizers.ByteLevel.alphabet()), *(one + other for one, other in merges)]
    made = Tokenizer(models.BPE(vocab={token: place for place, token in enumerate(known)}, merges=merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([PAD, END])
    made.add_tokens([AddedToken(text, normalized=False) for text in _phrases(template)])
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=made, pad_token=PAD, eos_token=END, clean_up_tokenization_spaces=False
    )


def _phrases(template: Template) -> list[str]:
    """Texts that are one token each, none twice."""
    offers = [act for act in Act if act.is_offer]
    acts = [[act for act in Act if may_agree or act is not Act.AGREE] for may_agree in (False, True)]
    found = [
        *(part for part in fixed_parts(template) if len(part) > 1),
        *(disagree_rule(rules) for rules in (Rules(), Rules(disagree="rejects"))),
        HIDDEN, NONE_YET, "(nothing yet)", " earlier acts are not shown)",
        *(f". {who}: {act.name}, {who} keep{s} " for (who, s), act in product((("you", ""), ("partner", "s")), offers)),
        *(f", {who} get{s} " for who, s in (("you", ""), ("partner", "s"))),
        *(f". {who}: {act.name}" for who, act in product(("you", "partner"), Act) if not act.is_offer),
        *(", ".join(f"{int(act)} {act.name}" for act in open_) for open_ in acts),
        *(act.name for act in Act),
        *(f'{{"act_type": {int(act)}, "oA": [' for act in Act), '], "confidence": ',
        *(f"{tenth / 10}" for tenth in range(11)),
    ]  # fmt: skip
    return list(dict.fromkeys(found))
