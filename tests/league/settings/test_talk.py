"""Messages and secret claims in the settings: written only where they are set, and refused where nobody plays them."""

from __future__ import annotations

import pytest

from dond_marl.game import Rules
from dond_marl.occupants import seat_occupant
from dond_marl.yardsticks.best_response import exact_by_answers
from league.settings.read import ConfigError, load_config
from league.settings.training import TrainConfig


def file(tmp_path, text):
    path = tmp_path / "settings.yaml"
    path.write_text(text)
    return path


def test_settings_without_talk_are_the_text_they_were():
    from league.settings.sections import EnvConfig

    assert not {"message_length", "secret_claims"} & EnvConfig().model_dump().keys()
    assert EnvConfig(message_length=80).model_dump()["message_length"] == 80
    assert EnvConfig(message_length=80).rules() == Rules(message_length=80)


@pytest.mark.parametrize("model", [None, TrainConfig])
@pytest.mark.parametrize(
    ("env", "told"),
    [
        ("secret_claims: true", "nobody trains or is measured by it"),
        ("secret_claims: true, max_turns: 1", "needs two turns"),
        ("message_length: 2001", "message_length"),
        ("message_length: -1", "message_length"),
    ],
)
def test_what_cannot_be_played_there_is_refused_in_words(env, told, model, tmp_path):
    members = "members: [tough, nice]\n" if model is None else ""
    path = file(tmp_path, f"env: {{{env}}}\n{members}")
    with pytest.raises(ConfigError, match=told):
        load_config(path) if model is None else load_config(path, (), model)


def test_a_league_with_messages_is_read(tmp_path):
    config = load_config(file(tmp_path, "env: {message_length: 200}\nmembers: [announcer, listener]\n"))
    assert config.env.rules() == Rules(message_length=200)


def test_what_talk_could_change_is_not_called_exact():
    listener, tough = seat_occupant("listener"), seat_occupant("tough")
    assert exact_by_answers(listener, Rules(2)) and not exact_by_answers(listener, Rules(2, message_length=9))
    assert exact_by_answers(tough, Rules(message_length=9)) and not exact_by_answers(tough, Rules(secret_claims=True))
