"""The local web pages as plain HTML: play, arena, league, replay and study."""
