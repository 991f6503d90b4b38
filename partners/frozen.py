"""Occupants that are read from a file when they are first seated: PyTorch is loaded then, and not before."""

from __future__ import annotations

from pathlib import Path

from dond_marl.seats import Partner

EXPERT = Path(__file__).parent / "experts" / "ppo.json"


def checkpoint(path: str, greedy: bool = False) -> Partner:
    """The policy in a checkpoint of ``scripts/train.py`` (its ``.json``); ``greedy``: its likeliest act every time.

    Source: this project. Raises :class:`partners.checkpoint.CheckpointError`.
    """
    from partners.checkpoint import load_network
    from partners.learned import NetworkPartner

    return NetworkPartner(load_network(Path(path).expanduser()), greedy=greedy)


def expert(path: str = str(EXPERT), greedy: bool = False) -> Partner:
    """The shipped PPO expert, trained on the legal scenario space against the zoo and its own past.

    Source: this project, ``configs/expert.yaml``; its card says how it was trained and what it scores.
    """
    return checkpoint(path, greedy)
