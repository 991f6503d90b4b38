"""A very long value is quoted in a line, wherever it is given: settings, specs, options, file names, keys."""

from __future__ import annotations

from dond_marl.errors import SHOWN, quote, shorten

LONG, NUMBER = "x" * 100_000, "1" * 100_000


def test_a_message_says_how_long_a_text_is_and_looks_at_the_beginning_of_anything_else_alone():
    assert quote("x" * 100_000) == f"'{'x' * SHOWN}'… (100,000 characters)"
    assert quote(b"x" * 81) == f"b'{'x' * SHOWN}'… (81 bytes)"
    assert quote(10**5000) == "a whole number of 16,610 bits" and quote(7) == "7" and quote("seven") == "'seven'"
    for value in ([0] * 10**6, {n: n for n in range(1000)}, [[[[[[1]]]]]], ["x" * 1000] * 1000, "\ud800\n" * 500):
        assert len(quote(value)) <= 2 * SHOWN and quote(value).isprintable()
    assert shorten(f"no {'y' * 5000}: give\nanother") == f"no {'y' * SHOWN}… (5,001 characters) give\nanother"
    assert shorten("as it is") == "as it is" and len(shorten("a b " * 5000)) < 120
