"""YAML as plain data: scalar types, round trips, and line numbers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from league.settings.layers import YamlError, read_yaml, write_yaml


@settings(max_examples=60)
@given(
    st.one_of(
        st.binary(max_size=200), st.text(max_size=200), st.text("env: {}[]&*!|>-\n\t\"'#%@`maxtursd0123", max_size=80)
    )
)
def test_any_content_is_read_or_refused_with_a_line(content):
    source = content if isinstance(content, bytes) else content.encode("utf-8", errors="surrogatepass")
    try:
        _, lines = read_yaml(source)
    except YamlError as error:
        assert error.line >= 1
        return
    assert all(line >= 1 for line in lines.values())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3e-4", 3e-4),
        ("1E5", 100_000),
        ("1e6", 1_000_000),
        ("1e400", float("inf")),
        ("+.5", 0.5),
        ("10", 10),
        ("010", 10),
        ("0o17", 15),
        ("0xff", 255),
        ("true", True),
        ("on", "on"),
        ("yes", "yes"),
        ("null", None),
        ("", None),
        ("1_000", 1_000),
        ("1__0", "1__0"),
        ("2024-01-01", "2024-01-01"),
        ("'3'", "3"),
        ("!!str 3", "3"),
        (".", "."),
    ],
)
def test_scalar_types_of_the_core_schema(text, value):
    read_value = read_yaml(f"key: {text}\n")[0]["key"]
    assert read_value == value and type(read_value) is type(value)


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text(max_size=20)
    | st.sampled_from(["3e-4", "on", "yes", "~", "1_000", "2024-01-01", "0o17", "!!x", "<<", "=", "&a", "*a"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)


@given(plain)
def test_write_read_round_trip(data):
    assert repr(read_yaml(write_yaml({"key": data}))[0]) == repr({"key": data}), "types and order too"


def test_lines_of_keys_and_items():
    lines = read_yaml("a:\n  b: 1\n\n  c:\n  - x\n  - d: 2\n# end\ne: [1,\n  2]\n")[1]
    assert {path: line for path, line in lines.items() if path} == {
        ("a",): 1,
        ("a", "b"): 2,
        ("a", "c"): 4,
        ("a", "c", 0): 5,
        ("a", "c", 1): 6,
        ("a", "c", 1, "d"): 6,
        ("e",): 8,
        ("e", 0): 8,
        ("e", 1): 9,
    }
