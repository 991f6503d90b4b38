"""Infos as arrays alone, and TorchRL, which takes no others: every face of the game over whole games."""

from __future__ import annotations

from itertools import product
from typing import Any

import gymnasium
import numpy as np
import pytest

from dond_marl import SingleAgentView, deal_or_no_dialog_v0
from dond_marl.envs.views import as_bools, view
from dond_marl.game import Act, Ending, Scenario

TABLE = Scenario((1, 2, 2), ((4, 1, 2), (0, 4, 1)))
FORMS = [*product(("flat", "discrete", "dict"), ("box", "dict")), ("discrete", "masked")]
WIDTHS = {"flat": 20, "discrete": 253, "dict": 20}
EVERYWHERE = {"oA_max": (3,), "seat": (), "active_seat": (), "ending": (), "deal": (), "illegal": ()}
EVERYWHERE |= {"allocation": (2, 3), "scores": (2,)}


def shapes(actions: str, seen: str, **more: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    mask = {"action_mask" if actions == "discrete" else "action_masks": (WIDTHS[actions],)}
    return {**(mask if seen != "masked" else {}), **EVERYWHERE, **more}


def check(infos: list[dict[str, Any]], expected: dict[str, tuple[int, ...]]) -> None:
    first = infos[0]
    for info in infos:
        assert {name: value.shape for name, value in info.items()} == expected
        assert all(type(value) is np.ndarray and value.dtype.kind in "iuf" for value in info.values())
        assert {name: value.dtype for name, value in info.items()} == {n: v.dtype for n, v in first.items()}
    for name in first:
        assert np.stack([info[name] for info in infos]).shape == (len(infos), *expected[name])


@pytest.mark.parametrize(("actions", "seen"), FORMS)
def test_parallel_infos_as_arrays(actions, seen):
    env, kept, endings = view(deal_or_no_dialog_v0.parallel_env(), actions, seen, "arrays"), [], set()
    for agent in env.possible_agents:
        env.action_space(agent).seed(1)
    for seed in range(30):
        _, infos = env.reset(seed=seed)
        kept += infos.values()
        while env.agents:
            _, _, _, _, infos = env.step({agent: env.action_space(agent).sample() for agent in env.agents})
            kept += infos.values()
        endings.add(int(infos["seat_0"]["ending"]))
        assert infos["seat_1"]["active_seat"] == -1 and infos["seat_1"]["seat"] == 1
    check(kept, shapes(actions, seen))
    assert Ending.ILLEGAL in endings and len(endings) > 1


@pytest.mark.parametrize(("actions", "seen"), FORMS)
def test_single_seat_infos_as_arrays(actions, seen):
    env, kept = view(gymnasium.make("DealOrNoDialog-v0"), actions, seen, "arrays"), []
    for seed in range(20):
        _, info = env.reset(seed=seed)
        kept.append(info)
        ended = False
        while not ended:
            _, _, ended, _, info = env.step(env.action_space.sample())
            kept.append(info)
    check(kept, shapes(actions, seen, skipped_games=()))
    assert gymnasium.make(env.spec).reset(seed=0)[1].keys() == info.keys()


def test_infos_as_arrays_say_what_the_plain_ones_say():
    env = view(deal_or_no_dialog_v0.parallel_env(), "flat", "box", "arrays")
    plain = view(deal_or_no_dialog_v0.parallel_env(), "flat", "box")
    for acts in ([[0, 1, 0, 2], [2, 0, 0, 0]], [[2, 0, 0, 0]], [[0, 1, 0, 2], [3, 0, 0, 0]]):
        (_, infos), (_, full) = (one.reset(options={"scenario": TABLE}) for one in (env, plain))
        for turn, act in enumerate(acts):
            for agent, info in infos.items():
                assert (info["action_masks"].astype(bool) == as_bools(full[agent]["action_mask"])).all()
                assert f"seat_{info['active_seat']}" == full[agent]["active_agent"] and info["ending"] == 0
            assert (env.action_masks() == plain.action_masks()).all()
            infos, full = env.step({f"seat_{turn % 2}": act})[4], plain.step({f"seat_{turn % 2}": act})[4]
        for agent, info in infos.items():
            told = full[agent]["outcome"]
            assert Ending(int(info["ending"])).name == told["ending"] and bool(info["deal"]) == told["deal"]
            assert tuple(info["scores"]) == told["scores"] and bool(info["illegal"]) == ("illegal" in full[agent])
            assert info["allocation"].tolist() == [list(part) for part in told["allocation"] or [(0, 0, 0)] * 2]
        infos["seat_0"]["oA_max"][:] = 9  # the caller's own
        assert env.reset(options={"scenario": TABLE})[1]["seat_0"]["oA_max"].tolist() == [1, 2, 2]


def test_masked_observations_as_rllib_reads_them():
    for make in (deal_or_no_dialog_v0.env, deal_or_no_dialog_v0.parallel_env):
        env = view(make(), "discrete", "masked", key="observations")
        env.reset(seed=1)
        assert set(env.observation_space("seat_0").spaces) == {"observations", "action_mask"}
    env = view(SingleAgentView(deal_or_no_dialog_v0.env()), "discrete", "masked", key="observations")
    seen, info = env.reset(seed=1)
    assert seen in env.observation_space and (seen["action_mask"] == info["action_mask"]).all()
    assert seen["observations"].shape == (15,) and seen["action_mask"][-1] == 1 == info["action_mask"][-1]
    assert env.action_masks().sum() == seen["action_mask"].sum() > Act.END


def test_unknown_view_form():
    env = deal_or_no_dialog_v0.env()
    with pytest.raises(ValueError, match=r"infos dict or arrays; got infos='array'"):
        view(env, infos="array")
    with pytest.raises(ValueError, match=r"got key='observations' with observations='box'. Say observations='masked'"):
        view(env, "discrete", key="observations")


@pytest.mark.filterwarnings("ignore:PettingZoo in TorchRL is tested:UserWarning")
class TestTorchRL:
    """TorchRL's own wrappers and its checker of specs; it zeroes and stacks infos of every agent and step."""

    @pytest.fixture(autouse=True)
    def library(self):
        pytest.importorskip("torchrl", reason="TorchRL is not installed: pip install -e .[examples]")

    @staticmethod
    def check(env: Any) -> None:
        from torchrl.envs.utils import check_env_specs

        env.set_seed(1)
        check_env_specs(env)
        games = env.rollout(60, break_when_any_done=False)
        assert games.shape == (60,) and games["next", "done"].sum() > 5

    @pytest.mark.parametrize(("actions", "seen"), FORMS)
    def test_it_takes_every_view(self, actions, seen):
        from torchrl.envs import GymWrapper, PettingZooWrapper

        parallel, aec, seat = (
            view(env, actions, seen, "arrays")
            for env in (
                deal_or_no_dialog_v0.parallel_env(),
                deal_or_no_dialog_v0.env(),
                gymnasium.make("DealOrNoDialog-v0"),
            )
        )
        self.check(PettingZooWrapper(parallel, categorical_actions=actions != "dict"))
        self.check(PettingZooWrapper(aec, use_mask=True, categorical_actions=actions != "dict"))
        self.check(GymWrapper(seat))
