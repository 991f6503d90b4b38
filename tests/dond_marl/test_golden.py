"""Golden playthroughs: each file in tests/golden is one game, which the environment must replay in the same words.

A file gives the settings, the table and the acts; the replay writes every other line anew and compares all of them.
To add a story, write its comment, `settings`, `table` and `says` lines, then run `python
tests/dond_marl/test_golden.py` and read what it fills in.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from dond_marl.envs.aec import NegotiationEnv
from dond_marl.game import SEATS, Act

FOLDER = Path(__file__).parent / "golden"
STORIES = sorted(FOLDER.glob("*.txt"))


def numbers(text: str) -> list[int]:
    return [int(n) for n in re.findall(r"-?\d+", text)]


def settings_of(lines: list[str]) -> dict[str, object]:
    words = next(line for line in lines if line.startswith("settings:")).removeprefix("settings:").split()
    pairs = dict(word.split("=") for word in words)
    return {name: int(value) if value.isdigit() else value for name, value in pairs.items()}


def table_of(lines: list[str]) -> dict[str, object]:
    counts, *values = (
        numbers(part.partition(":")[2])
        for part in next(line for line in lines if line.startswith("table:")).removeprefix("table:").split("|")
    )
    return {"counts": counts, "utilities": values}


def seen_by(env: NegotiationEnv, agent: str) -> str:
    seen, info = env.observe(agent), env.infos[agent]
    last = Act(int(seen["last_partner_act"])).name
    pieces = [
        f"pool {' '.join(map(str, seen['counts']))}",
        f"my values {' '.join(map(str, seen['my_utilities']))}",
        f"partner said {'nothing' if last == 'END' else last}",
        f"offered to me {' '.join(map(str, seen['last_partner_offer_for_me']))}",
        f"turns left {seen['turns_remaining']}",
        f"may {' '.join(act.name for act in Act if info['action_mask'][act])}",
    ]
    return f"{agent} sees: {' | '.join(pieces)}"


def replayed_story(text: str) -> str:
    """The story as the environment writes it now."""
    lines = text.splitlines()
    told = [line for line in lines if line.startswith(("#", "settings:", "table:"))] + [""]
    env = NegotiationEnv(**settings_of(lines), render_mode="ansi")
    env.reset(options={"scenario": table_of(lines)})
    for line in lines:
        speaker, says, what = line.partition(" says: ")
        if not says or not speaker.startswith("seat_"):
            continue
        assert speaker == env.agent_selection, f"it is not {speaker}'s turn: {line}"
        act, *oA = what.split()
        told += [seen_by(env, speaker), line]
        env.step({"act_type": int(Act[act]), "oA": np.array([int(n) for n in oA] or [0, 0, 0])})
    rewards = " ".join(f"{agent} {env.rewards[agent]:g}" for agent in SEATS)
    told += ["", *env.render().splitlines(), f"rewards: {rewards}"]
    assert env.negotiation.is_over
    return "\n".join(told) + "\n"


@pytest.mark.parametrize("story", STORIES, ids=lambda path: path.stem)
def test_golden_transcripts(story):
    written = story.read_text(encoding="utf-8")
    for number, (expected, told) in enumerate(
        zip(written.splitlines(), replayed_story(written).splitlines(), strict=True), start=1
    ):
        assert told == expected, f"{story.name}:{number}"


def test_the_stories_show_every_ending():
    endings = ["Deal:", "as the claims fit", "as time is up", "walked away", "do not add up", "broke a rule"]
    told = "\n".join(story.read_text(encoding="utf-8") for story in STORIES)
    assert [ending for ending in endings if ending not in told] == []


if __name__ == "__main__":
    for path in STORIES:
        path.write_text(replayed_story(path.read_text(encoding="utf-8")), encoding="utf-8")
