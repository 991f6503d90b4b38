"""The reply cache: recording, replay, failures, several processes."""

from __future__ import annotations

import json
from contextlib import ExitStack, closing
from itertools import count

import numpy as np
import pytest

from dond_marl.game import Rules
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Cause
from partners.llm.cache import CachedClient, CacheError, CacheMiss, question_key
from partners.llm.client import Failure, ModelReply, Query, Usage
from partners.llm.partner import LLMPartner
from partners.llm.remote.client import RemoteClient
from partners.llm.reply import Legal
from partners.llm.service import ServiceSettings
from partners.scripted.heuristic import Heuristic
from tests.loopback import Page, completion
from tests.partners.llm.test_partner import Model

LEGAL = Legal((1, 1, 1), (0, 1, 3, 4))
ASK = Query("Your move.", LEGAL)


def counting() -> Model:
    """A model that numbers its replies."""
    numbers = count()

    def answer(ask):
        number = next(numbers)
        return ModelReply(f"{ask.prompt} {number}", number % 2 == 0, None, Usage(10, number))

    return Model(answer)


@pytest.fixture
def record(tmp_path):
    """Makes clients with one file, by default recording, and closes them."""
    with ExitStack() as stack:
        yield lambda client, mode="record": stack.enter_context(closing(CachedClient(client, tmp_path / "c.db", mode)))


def test_cached_replies_are_not_queried_again(record):
    model = counting()
    client = record(model)
    first = client.complete([ASK, ASK._replace(prompt="Other."), ASK])
    assert [reply.text for reply in first] == ["Your move. 0", "Other. 1", "Your move. 0"]
    assert client.complete([ASK, ASK._replace(prompt="Third.")])[0] == first[0]
    assert len(model.asked) == 3
    assert client.tally == {"cache_hits": 2, "cache_misses": 3}
    again = counting()  # of another process, on another day
    assert record(again).complete([ASK, ASK._replace(prompt="Other.")]) == first[:2]
    assert again.asked == []


def test_key_covers_everything_that_shapes_a_reply():
    identity = json.dumps({"model": "m"})
    keys = {
        question_key(identity, ASK),
        question_key(json.dumps({"model": "n"}), ASK),
        question_key(identity, ASK._replace(prompt="Other.")),
        question_key(identity, ASK._replace(sample=1)),
        question_key(identity, ASK._replace(legal=Legal((1, 1, 2), LEGAL.acts))),
        question_key(identity, ASK._replace(legal=Legal((1, 1, 1), (3, 4)))),
    }
    assert len(keys) == 6
    settings = [{}, {"temperature": 0.5}, {"max_tokens": 64}, {"structure": "json_object"}, {"extra": {"top_p": 0.5}}]
    identities = [
        json.dumps(ServiceSettings("openai", "m", "http://h/v1", **changes).identity(), sort_keys=True)
        for changes in settings
    ]
    assert len(set(identities)) == len(settings)
    # Where it is served and how fast it may be asked shapes nothing, and is nobody else's business.
    elsewhere = ServiceSettings("openai", "m", "https://other/v1", "SOME_KEY", in_flight=2, requests_per_minute=9)
    assert json.dumps(elsewhere.identity(), sort_keys=True) == identities[0]


def test_replay_contacts_no_model(record):
    (reply,) = record(counting()).complete([ASK])
    model = counting()
    client = record(model, "replay")
    before = client.path.read_bytes()
    assert client.complete([ASK]) == [reply]
    with pytest.raises(CacheMiss, match=r"c\.db.*'New\.', sample 0"):
        client.complete([ASK, ASK._replace(prompt="New."), ASK._replace(sample=7)])
    assert model.asked == [] and client.path.read_bytes() == before


def test_failures_are_replayed_and_repeated_when_recording(record):
    answers = iter([ModelReply(failure=Failure.TIMEOUT), ModelReply("here")])
    recording = record(Model(lambda ask: next(answers)))
    heard = [recording.complete([ASK])[0] for _ in range(3)]
    assert heard == [ModelReply(failure=Failure.TIMEOUT), ModelReply("here"), ModelReply("here")]
    replaying = record(counting(), "replay")
    assert [replaying.complete([ASK])[0] for _ in range(3)] == heard
    newest = [ModelReply("now")]
    assert record(Model(lambda ask: newest[0])).complete([ASK]) == newest
    assert record(counting(), "replay").complete([ASK]) == newest


def test_file_that_is_no_cache_is_refused(tmp_path):
    (tmp_path / "text.db").write_text("not a database, but a text of some length " * 10)
    with pytest.raises(CacheError, match=r"text\.db"):
        CachedClient(counting(), tmp_path / "text.db")


def test_cache_mode_needs_a_file(tmp_path):
    model = counting()
    assert ServiceSettings().with_cache(model) is model
    with pytest.raises(ValueError, match="cache_mode"):
        ServiceSettings(cache_mode="record")
    with pytest.raises(CacheError, match="to replay"):
        ServiceSettings(cache=tmp_path / "c.db", cache_mode="replay").with_cache(model)
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore:the model 'm':RuntimeWarning")  # what failed is told once
def test_league_with_failures_replays_exactly(services, tmp_path):
    rng = np.random.Generator(np.random.SFC64(5))

    def answer(heard, number):
        pick = rng.integers(10)
        if pick == 0:
            return Page(400)
        if pick == 1:
            return completion("I think we should talk about it.")
        return completion()

    service = services(answer)
    scenarios = open_source("lewis").draw(np.random.Generator(np.random.SFC64(1)), 40)
    played, tallies, requests = [], [], []
    for mode in ("record", "replay", "replay"):
        with (
            closing(RemoteClient(ServiceSettings("openai", "m", service.url, structure="text"))) as remote,
            closing(CachedClient(remote, tmp_path / "c.db", mode)) as cached,
        ):
            partner = LLMPartner(cached, samples=3)
            games = rollout((partner, Heuristic()), scenarios, Rules(6), seed=7)
            played.append((games.act, games.oA, games.scores, games.cause))
            tallies.append(partner.tally)
            requests.append(remote.tally["requests"])
    assert tallies[0] == tallies[1] == tallies[2]
    np.testing.assert_equal(played[1:], played[:1] * 2)
    assert requests[0] > 40
    assert requests[1:] == [0, 0]
    assert (games.cause == Cause.UNREACHABLE).any()
    assert tallies[0]["rejected_unparsable"] > 0
