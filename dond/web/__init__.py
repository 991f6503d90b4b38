"""The local web pages as plain HTML: play, arena, league, replay, study and the static demo."""
