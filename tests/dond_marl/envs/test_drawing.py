"""The table as a picture, 640 by 480: every act changes it, at any size of pool, and videos are made of it."""

from __future__ import annotations

import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import RenderCollection

from dond_marl import deal_or_no_dialog_v0
from dond_marl.errors import MissingLibrary
from dond_marl.game import Act

pytest.importorskip("PIL", reason="the extra plot brings it")

TABLE = {"scenario": {"counts": (1, 2, 2), "utilities": ((4, 1, 2), (0, 4, 1))}}


def frames(*acts, **settings):
    env = deal_or_no_dialog_v0.env(render_mode="rgb_array", **settings)
    env.reset(seed=0, options=TABLE)
    shown = [env.render()]
    for act, oA in acts:
        env.step({"act_type": int(act), "oA": oA})
        shown.append(env.render())
    return shown


@pytest.mark.parametrize("last", [Act.DISAGREE, Act.END])
def test_drawing_moves_items_to_their_seat(last):
    _, offered, over = frames((Act.PROPOSE, [1, 0, 2]), (last, [0, 0, 0]))
    upper, lower = np.s_[175:230, 30:460], np.s_[275:330, 30:460]
    hat, book = np.array([0x74, 0x3F, 0x94]), np.array([0x3F, 0x56, 0xC8])
    assert (offered[upper] == hat).all(axis=-1).any() and not (offered[lower] == hat).all(axis=-1).any()
    assert (offered[lower] == book).all(axis=-1).any() and not (offered[upper] == book).all(axis=-1).any()
    assert not (over[lower] == book).all(axis=-1).any()  # no deal: nobody gets anything


def test_large_pools_and_forfeits_are_drawn():
    env = deal_or_no_dialog_v0.env(render_mode="rgb_array", max_count=10, illegal="forfeit")
    env.reset(seed=3, options={"scenario": {"counts": (10, 10, 10), "utilities": ((1, 2, 10), (10, 0, 3))}})
    for act, oA in ((Act.PROPOSE, [10, 5, 0]), (Act.PROPOSE, [1, 1, 1])):
        env.step({"act_type": int(act), "oA": oA})
        assert env.render().shape == (480, 640, 3)
    env.step({"act_type": int(Act.PROPOSE), "oA": [10, 10, 10]})
    env = deal_or_no_dialog_v0.env(render_mode="rgb_array", illegal="forfeit")
    env.reset(options=TABLE)
    env.step({"act_type": int(Act.AGREE), "oA": [0, 0, 0]})
    assert env.render().shape == (480, 640, 3)


def test_gymnasium_and_the_parallel_environment_show_it_too(tmp_path):
    env = RenderCollection(gymnasium.make("DealOrNoDialog-v0", render_mode="rgb_array", seat=0))
    _, info = env.reset(seed=0)
    env.step(env.action_space.sample(info["action_mask"]))
    assert len(env.render()) == 2
    both = deal_or_no_dialog_v0.parallel_env(render_mode="rgb_array")
    both.reset(seed=0)
    assert both.render().shape == (480, 640, 3)


def test_without_pillow_the_extra_is_named_at_once(monkeypatch):
    for name in [name for name in sys.modules if name == "PIL" or name.startswith("PIL.")]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingLibrary, match=r"PIL.*\[plot\]'"):
        deal_or_no_dialog_v0.env(render_mode="rgb_array")
