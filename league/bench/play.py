"""Playing: a submission meets every member of a roster, in this process or in several beside it."""

from __future__ import annotations

import hashlib
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from multiprocessing import get_context

from dond_marl.errors import DondError, InputError, RunFailure
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.sources import ScenarioSource
from league.bench.protocol import CONFIDENCE, NOISE_SEED, RULES
from league.bench.submission import Who
from league.evaluation.matches import MEMBER, Repeated, Terms, play_repeatedly


def noise_index(partner: str) -> int:
    """What names the noise of all games with this partner: its spec, and not who plays it or who else is played."""
    return int.from_bytes(hashlib.sha256(partner.encode()).digest()[:8])


def play_partner(who: Who, partner: str, source: ScenarioSource, replicates: int) -> Repeated:
    """All games of ``who`` with one partner, a spec, on the source's table.

    Raises :class:`~league.evaluation.matches.PlayError`, :class:`~league.evaluation.matches.UnreachedError`.
    """
    assert source.table is not None
    terms = Terms(source, source.table, RULES, NOISE_SEED, CONFIDENCE)
    index = (noise_index(partner),)
    return play_repeatedly(terms, MEMBER, who.partner(), partner, seat_occupant(partner), replicates, index)


def play_roster(
    who: Who,
    partners: Sequence[str],
    source: ScenarioSource,
    replicates: int,
    *,
    workers: int = 1,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Repeated]:
    """The games with every partner, by its spec, in the order given; the same whatever ``workers`` is.

    ``tell`` hears how far it is.
    """
    played: dict[str, Repeated] = {}
    for done, (partner, games) in enumerate(_played(who, partners, source, replicates, workers), start=1):
        played[partner] = games
        tell(f"{done} of {len(partners)} partners")
    return {partner: played[partner] for partner in partners}


def _played(
    who: Who, partners: Sequence[str], source: ScenarioSource, replicates: int, workers: int
) -> Iterator[tuple[str, Repeated]]:
    if workers == 1 or len(partners) < 2:
        for partner in partners:
            yield partner, play_partner(who, partner, source, replicates)
        return
    # A fresh interpreter each: a copy of one that has loaded PyTorch may hang.
    with ProcessPoolExecutor(min(workers, len(partners)), get_context("spawn"), _begin_worker) as pool:
        waiting = {pool.submit(_in_worker, who, partner, source, replicates): partner for partner in partners}
        try:
            for future in as_completed(waiting):
                games = future.result()
                if isinstance(games, DondError):
                    raise games
                yield waiting[future], games
        except BrokenExecutor:
            raise RunFailure("a worker was ended from outside, by lack of memory perhaps; use --workers 1") from None
        finally:
            processes = list(getattr(pool, "_processes", {}).values())
            pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.terminate()


def _in_worker(who: Who, partner: str, source: ScenarioSource, replicates: int) -> Repeated | DondError:
    """The games, or what went wrong in words: the errors themselves hold what may not travel."""
    try:
        return play_partner(who, partner, source, replicates)
    except InputError as error:
        return InputError(str(error))
    except RunFailure as error:
        return RunFailure(str(error))


def _begin_worker() -> None:
    """Workers share the cores, so that each computes with one thread; Ctrl-C ends them without a word."""
    import torch  # in a worker it would be loaded for the first network anyway

    torch.set_num_threads(1)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
