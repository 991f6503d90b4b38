"""Settings that are wrong: everything is told at once, each with its line or option, and fast."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from league.settings.read import ConfigError, load_config
from league.settings.yaml import MAX_BYTES


def told(content: str | bytes, tmp_path: Path, *overrides: str) -> list[tuple[str, str]]:
    """Everything that is wrong with a file, as (line, or option without ``--set``; words)."""
    path = tmp_path / "x.yaml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ConfigError) as caught:
        load_config(path, overrides)
    lines = str(caught.value).split("\n")
    assert all(line.isprintable() for line in lines)
    options = "|".join(map(re.escape, overrides)) or "none"
    found = [re.fullmatch(rf"(?:{re.escape(str(path))}:(\d+)|--set ({options})): (.*)", line) for line in lines]
    assert all(found), lines
    return [(match[1] or match[2], match[3]) for match in found]


def assert_told(found: list[tuple[str, str]], expected: list[tuple[object, str]]) -> None:
    """Exactly the expected problems, in order: each (line, pattern)."""
    assert [place for place, _ in found] == [str(place) for place, _ in expected], found
    for (_, words), (_, pattern) in zip(found, expected, strict=True):
        assert re.search(pattern, words), f"{pattern!r} is not in {words!r}"


BAD_YAML = {
    "a tab as indentation": ("env:\n\tmax_turns: 3\n", [(2, "a tab: indent with spaces")]),
    "an open bracket": ("env: {max_turns: 3\nleague: {}\n", [(2, "not valid YAML")]),
    "an open list": ("members: [tough\n", [(2, "not valid YAML")]),
    "an open quote": ("env:\n  id: 'x\n", [(3, "not valid YAML")]),
    "a colon too many": ("env: max_turns: 3\n", [(1, "mapping values are not allowed here")]),
    "a wrong dedent": ("env:\n    max_turns: 3\n  id: x\n", [(3, "not valid YAML")]),
    "a list item among keys": ("env:\n  max_turns: 3\n  - x\n", [(3, "not valid YAML")]),
    "an unknown alias": ("env: {}\nleague: *nobody\n", [(2, "undefined alias")]),
    "two documents": ("env: {}\n---\nleague: {}\n", [(2, "one document only")]),
    "a directive that is none": ("%YAML 9.9\n---\nenv: {}\n", [(1, "not valid YAML")]),
    "a reserved character": ("env: `x`\n", [(1, "cannot start any token")]),
    "a list at the top": ("- env\n- league\n", [(1, "must hold keys and values; got \\['env', 'league'\\]")]),
    "text at the top": ("# settings\nenv\n", [(2, "must hold keys and values; got 'env'")]),
    "a number at the top": ("3\n", [(1, "must hold keys and values; got 3")]),
    "a NUL": ("env:\n  id: a\0b\n", [(2, r"U\+0000 may not stand")]),
    "an escape character": ("env: {}\n\n# \x1b[31m\n", [(3, r"U\+001B may not stand")]),
    "invalid UTF-8": (b"env:\n  max_turns: 3\n  id: \xff\n", [(3, "not UTF-8 text: byte 0xff")]),
    "UTF-16": ("env: {}\n".encode("utf-16"), [(1, "not UTF-8")]),
    "a compressed file": (b"\x1f\x8b\x08\x00" * 50, [(1, "not UTF-8")]),
    "more than a megabyte": ("# " + "x" * MAX_BYTES, [(1, "at most 1,000,000")]),
    "deep nesting": ("env: " + "[" * 50_000, [(1, "nested more than 16 deep")]),
    "deep nesting by lines": ("env:\n" + "".join(" " * i + "- \n" for i in range(1, 40)), [(18, "more than 16 deep")]),
    "very many values": ("members: [" + "x," * 20_000 + "]", [(1, "more than 10,000 values")]),
}

BAD_TAGS_AND_KEYS = {
    "a Python call": (
        "env:\n  max_turns: 3\n  id: !!python/object/apply:os.system ['touch pwned']\n",
        [(3, "'!!python/object/apply:os.system' is not allowed")],
    ),
    "a Python name": ("league:\n  seed: !!python/name:os.system\n", [(2, "'!!python/name:os.system' is not allowed")]),
    "a Python object as the whole": ("!!python/object:os.system\na: 1\n", [(1, "is not allowed")]),
    "a tag of one's own": ("league:\n  seed: !seed 3\n", [(2, "'!seed' is not allowed")]),
    "a date tag": ("league:\n  seed: !!timestamp 2024-01-01\n", [(2, "'!!timestamp' is not allowed")]),
    "a binary tag": ("env:\n  id: !!binary aGk=\n", [(2, "'!!binary' is not allowed")]),
    "a set": ("members: !!set {tough}\n", [(1, "'!!set' is not allowed")]),
    "a tag inside members": (
        "members:\n- tough\n- {kind: random, x: !!python/name:os.system }\n- tugh\n",
        [(3, "is not allowed"), (4, "no occupant is called 'tugh'")],
    ),
    "a tag that does not fit": ("league:\n  seed: !!int ten\n", [(2, "'!!int' does not fit 'ten'")]),
    "a mapping tagged as text": ("env: !!str {id: x}\n", [(1, "'!!str' does not fit its value")]),
    "a mapping tagged as a list": ("env: !!seq {id: x}\n", [(1, "does not fit")]),
    "a key twice": (
        "league:\n  seed: 1\n  rounds: 2\n  seed: 1\n",
        [(4, "league.seed: given twice, on lines 2 and 4")],
    ),
    "a key three times": (
        "league:\n  seed: 1\n  seed: 2\n  seed: 3\n",
        [(3, "given twice, on lines 2 and 3"), (4, "given twice, on lines 2 and 4")],
    ),
    "a section twice": ("env: {}\nleague: {}\nenv: {}\n", [(3, "env: given twice, on lines 1 and 3")]),
    "a number as a key": ("env: {}\n3: x\n", [(2, "a key must be text; got '3'")]),
    "true as a key": ("env:\n  true: x\n", [(2, "a key must be text; got 'true'")]),
    "null as a key": ("env:\n  ~: x\n", [(2, "a key must be text; got '~'")]),
    "nothing as a key": ("env:\n  : x\n", [(2, "not valid YAML")]),
    "an alias as a key": ("env:\n  partner: &x tough\n  *x : b\n", [(3, "a key must be text; got some alias")]),
    "a list as a key": ("env:\n  ? [a, b]\n  : x\n", [(2, "a key must be text; got some sequence")]),
    "a merge": (
        "env: &base {max_turns: 3}\nleague:\n  <<: *base\n",
        [(3, "league.<<: unknown key")],
    ),
    "a list that contains itself": ("members: &me [*me]\n", [(1, "contains itself")]),
    "a mapping that contains itself": ("env: &me\n  partner: *me\n", [(2, "contains itself")]),
    "an endless number": ("league:\n  seed: " + "9" * 5000 + "\n", [(2, "a number too long to read")]),
}

BAD_VALUES = {
    "an unknown section": ("envv: {}\n", [(1, r"envv: unknown key \(did you mean 'env'\?\); known: env, league")]),
    "an unknown key": (
        "env:\n\n  max_turnz: 3\n",
        [(3, r"env.max_turnz: unknown key \(did you mean 'max_turns'\?\); known: id, partner, max_turns")],
    ),
    "a key in the wrong case": ("league:\n  Seed: 3\n", [(2, "did you mean 'seed'")]),
    "a section that is text": ("env: lewis\n", [(1, "env: a section of keys and values; got 'lewis'")]),
    "a section that is a list": ("league: [1]\n", [(1, "league: a section of keys and values; got \\[1\\]")]),
    "a number as text": ('env:\n  max_turns: "10"\n', [(2, r"an integer in 1\.\.100; got '10'")]),
    "true as a number": ("env:\n  max_turns: true\n", [(2, r"an integer in 1\.\.100; got True")]),
    "a fraction as an integer": ("env:\n  max_turns: 10.0\n", [(2, "an integer .*; got 10.0")]),
    "nothing as a number": ("env:\n  max_turns:\n", [(2, "an integer .*; got None")]),
    "a number as a switch": ("env:\n  normalize: 1\n", [(2, "true or false; got 1")]),
    "yes as a switch": ("env:\n  use_dataset: yes\n", [(2, "true or false; got 'yes'")]),
    "no turns": ("env:\n  max_turns: 0\n", [(2, r"1\.\.100; got 0")]),
    "too many turns": ("env:\n  max_turns: 101\n", [(2, r"1\.\.100; got 101")]),
    "too many items": ("env:\n  max_count: 11\n", [(2, r"1\.\.10; got 11")]),
    "no points": ("env:\n  points_budget: 0\n", [(2, r"1\.\.300; got 0")]),
    "an unknown variant": (
        "env:\n  disagree: end\n",
        [(2, r"one of ends, rejects; got 'end' \(did you mean 'ends'\?\)")],
    ),
    "an unknown source": ("env:\n  scenarios: lewiss\n", [(2, "uniform, lewis, self_play, dialogues; .*mean 'lewis'")]),
    "an unknown source with a split": ("env:\n  scenarios: lewiss\n  split: train\n", [(2, "mean 'lewis'")]),
    "a source that is a list": ("env:\n  scenarios: [lewis]\n", [(2, "one of uniform")]),
    "an unknown data set": ("env:\n  dataset: selfplay\n", [(2, "one of self_play, dialogues; .*mean 'self_play'")]),
    "an unknown split": (
        "env:\n  scenarios: lewis\n  split: val\n",
        [(3, "env.split: split of scenarios='lewis' must be one of train, test, paper_test, all; got 'val'")],
    ),
    "a split of a source that has none": (
        "env:\n  split: train\n",
        [(2, "one of near, beyond, or left out; got 'train'")],
    ),
    "a split that is a number": ("env:\n  scenarios: lewis\n  split: 1\n", [(3, "text, or left out; got 1")]),
    "another game": ("env:\n  id: Chess-v0\n", [(2, "one of DealOrNoDialog-v0; got 'Chess-v0'")]),
    "a path that is a number": ("env:\n  data_dir: 2024\n", [(2, "the path of a folder, or left out; got 2024")]),
    "a path with a NUL": ('env:\n  data_dir: "a\\0b"\n', [(2, r"the path of a folder, or left out; got 'a\\x00b'")]),
    "an empty path": ("logging:\n  output_dir: ''\n", [(2, "the path of a folder; got ''")]),
    "a budget that leaves nothing": (
        "env:\n  scenarios: lewis\n  normalize: true\n  points_budget: 9\n",
        [(4, "no scenario of 'lewis' worth exactly points_budget=9")],
    ),
    "pools larger than allowed": ("env:\n  scenarios: lewis\n  max_count: 3\n", [(3, "more than max_count=3")]),
    "a negative seed": ("league:\n  seed: -1\n", [(2, r"an integer in 0\.\.2\*\*63 - 1; got -1")]),
    "a huge seed": (
        "league:\n  seed: 0x8000000000000000\n",
        [(2, r"an integer in 0\.\.2\*\*63 - 1; got 9223372036854775808")],
    ),
    "no rounds": ("league:\n  rounds: 0\n", [(2, r"1\.\.100000; got 0")]),
    "an empty block": ("league:\n  block_size: 0\n", [(2, r"1\.\.65536, scenarios per match; got 0")]),
    "certainty": ("league:\n  confidence: 1\n", [(2, "between 0.5 and 0.9999; got 1")]),
    "a coin toss": ("league:\n  confidence: 0.5\n", [(2, "between 0.5 and 0.9999; got 0.5")]),
    "no number": ("league:\n  confidence: .nan\n", [(2, "between 0.5 and 0.9999; got nan")]),
    "infinite confidence": ("league:\n  confidence: .inf\n", [(2, "between 0.5 and 0.9999; got inf")]),
    "a control character in a value": ('env:\n  id: "\\e[31m"\n', [(2, r"got '\\x1b\[31m'")]),
    "a very long value": ("env:\n  id: " + "x" * 100_000 + "\n", [(2, r"got 'x{80}'… \(100,000 characters\)$")]),
    "a very long key": ("env:\n  ? " + "x" * 100_000 + "\n  : 1\n", [(2, r"^env.'x{80}'… \(100,000 .*: unknown key")]),
}

BAD_MEMBERS = {
    "nobody": ("members: []\n", [(1, r"members: must be a list of occupants, at least one, or zoo .*; got \[\]")]),
    "nothing": ("members:\n", [(1, "must be a list of occupants.*got None")]),
    "a single name": ("members: tough\n", [(1, "must be a list of occupants.*got 'tough'")]),
    "a mapping": ("members: {kind: tough}\n", [(1, "must be a list of occupants")]),
    "an unknown name": (
        "members:\n- tough\n- tugh\n",
        [(3, r"members\[1\]: .*'tugh' \(did you mean 'tough'\?\); dond catalogue lists all")],
    ),
    "a number": ("members:\n- 3\n", [(2, r"members\[0\]: an occupant is a name, .*; got 3")]),
    "a list": ("members:\n- [tough]\n", [(2, "an occupant is a name, .*; got \\['tough'\\]")]),
    "an unknown parameter": ("members:\n- heuristic(demandd=1)\n", [(2, "does not take 'demandd'; it takes ")]),
    "an impossible parameter": ("members:\n- heuristic(accept_ratio=7)\n", [(2, "'heuristic' cannot be made with")]),
    "a mapping without kind": ("members:\n- tough\n- name: x\n", [(3, "needs a text 'kind'")]),
    "a kind that is a number": ("members:\n- {kind: 3}\n", [(2, "needs a text 'kind'")]),
    "a call with positions": ("members:\n- heuristic(0.5)\n", [(2, "name\\(parameter=value, ...\\); got 'heuristic")]),
    "code": ("members:\n- __import__('os').system('x')\n", [(2, "an occupant is written name")]),
    "an unquoted comma": (
        "members: [heuristic(demand=1, accept_ratio=0.5)]\n",
        [(1, r"members\[0\]: .*put quotes around it"), (1, r"members\[1\]: .*put quotes around it")],
    ),
    "brackets without end": ("members:\n- " + "(" * 900 + "\n", [(2, "an occupant is written name")]),
    "a very long spec": ("members:\n- " + "-" * 5000 + "x\n", [(2, "an occupant is a name")]),
    "a member twice": ("members:\n- tough\n- random\n- tough\n", [(4, r"the name 'tough' is taken by members\[0\]")]),
    "a member twice in other words": (
        "members:\n- heuristic(demand=1, accept_ratio=0.5)\n- {kind: heuristic, accept_ratio: 0.5, demand: 1}\n",
        [(3, r"is taken by members\[0\]")],
    ),
    "a member twice through an alias": (
        "members:\n- &b {kind: heuristic, demand: 1}\n- tough\n- *b\n",
        [(4, r"is taken by members\[0\]")],
    ),
    "a name twice": (
        "members:\n- {kind: tough, name: Ann}\n- {kind: random, name: Ann}\n",
        [(3, r"the name 'Ann' is taken by members\[0\]")],
    ),
    "an empty name": ("members:\n- {kind: tough, name: ''}\n", [(2, r"1\.\.80 printable characters; got ''")]),
    "a name of spaces": ("members:\n- {kind: tough, name: '  '}\n", [(2, r"1\.\.80 printable")]),
    "a name that is too long": ("members:\n- {kind: tough, name: " + "x" * 81 + "}\n", [(2, r"1\.\.80 printable")]),
    "a name that is a number": ("members:\n- {kind: tough, name: 7}\n", [(2, r"1\.\.80 printable characters; got 7")]),
    "a name with a line break": (
        'members:\n- {kind: tough, name: "a\\nb"}\n',
        [(2, r"printable characters; got 'a\\nb'")],
    ),
    "a name with colors": ('members:\n- {kind: tough, name: "\\e[31m"}\n', [(2, "1..80 printable")]),
    "a name that turns text around": ('members:\n- {kind: tough, name: "\\u202Eevil"}\n', [(2, r"got '\\u202eevil'")]),
    "an unknown partner": ("env:\n  partner: heuristik\n", [(2, "env.partner: .*'heuristik' .*mean 'heuristic'")]),
    "a partner that is a number": ("env:\n  partner: 3\n", [(2, "env.partner: an occupant is a name, .*; got 3")]),
}

CASES = {**BAD_YAML, **BAD_TAGS_AND_KEYS, **BAD_VALUES, **BAD_MEMBERS}


@pytest.mark.parametrize("case", CASES)
def test_each_mistake_is_told_with_its_line(case, tmp_path):
    content, expected = CASES[case]
    assert_told(told(content, tmp_path), expected)
    assert not (tmp_path / "pwned").exists() and not Path("pwned").exists()


def bomb(depth: int, width: int) -> str:
    lines = ["a0: &a0 [" + ", ".join(["lol"] * width) + "]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * width)}]" for i in range(1, depth)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "content",
    [bomb(9, 9), bomb(14, 2), bomb(15, 40), "env: {partner: &p {kind: [" + "x," * 4000 + "]}}\nmembers: [*p, *p, *p]"],
)
def test_an_alias_bomb_is_refused_before_it_is_written_out(content, tmp_path):
    """The smallest stands for 12,000 values, the largest for 10^24: they are counted, not built."""
    calls = 0

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        found = told(content, tmp_path)
    finally:
        sys.setprofile(None)
    assert calls < 1_000_000
    assert len(found) == 1 and "values once its aliases are written out" in found[0][1]


def test_a_bomb_is_told_at_the_key_that_writes_it_out(tmp_path):
    # a0 holds 9 values, a1 9 * 10, a2 9 * 91, a3 9 * 820 and so on: with a4 there are more than 10,000.
    assert told(bomb(9, 9), tmp_path)[0][0] == "5"


def test_all_repeated_members_and_bad_stages_are_told_at_once(tmp_path):
    content = """\
members:
- tough
- tough
- random
- tough
heldout:
- random
learners: [{name: ann}, {name: ann}]
stages:
- name: first
- name: last
  learners: {bob: {}}
"""
    expected = [
        *((line, r"'tough' is taken by members\[0\]") for line in (3, 5)),
        (7, r"heldout\[0\]: the name 'random' is taken by members\[2\]"),
        (8, r"learners\[1\]: the name 'ann' is taken by learners\[0\]"),
        (10, "it never ends"),
        (11, "no learner is called bob"),
    ]
    assert_told(told(content, tmp_path), expected)


def test_all_mistakes_are_told_at_once_in_the_order_of_the_lines(tmp_path):
    content = """\
members:
- tough
- tugh
- {kind: heuristic, demandd: 1}
league:
  seed: -1
  seed: 2
  confidence: 3
env:
  max_turns: ten
  id: !!python/name:os.system
  disagre: ends
  scenarios: lewis
  split: val
loging: {}
"""
    found = told(content, tmp_path, "env.max_count=0", "league", "logging.output_dir=[1")
    assert_told(
        found,
        [
            (3, "tugh"),
            (4, "demandd"),
            (6, "got -1"),
            (7, "given twice, on lines 6 and 7"),
            (8, "got 3"),
            (10, "got 'ten'"),
            (11, "not allowed"),
            (12, "did you mean 'disagree'"),
            (14, "got 'val'"),
            (15, "did you mean 'logging'"),
            ("env.max_count=0", r"env.max_count: must be an integer in 1\.\.10; got 0"),
            ("league", "written --set key.key=value"),
            ("logging.output_dir=[1", "not valid YAML"),
        ],
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere.yaml", "no such file"),
        (".", "a folder"),
        ("x.yaml/y.yaml", "cannot be read"),
        ("a\0b", "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_is_told(name, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("x.yaml").write_text("env: {}\n")
    with pytest.raises(ConfigError, match=re.escape(f"{name}: {words}")):
        load_config(name)


def test_an_endless_file_is_refused():
    with pytest.raises(ConfigError, match="at most 1,000,000"):
        load_config("/dev/zero")


# --- Options ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["env.max_turns"], [("env.max_turns", "written --set key.key=value")]),
        (["=3"], [("=3", "written --set")]),
        (["env..max_turns=3"], [("env..max_turns=3", "written --set")]),
        (["  "], [("  ", "written --set")]),
        (["env.max_turns=x"], [("env.max_turns=x", "got 'x'")]),
        (["env.max_turns=[3"], [("env.max_turns=[3", "not valid YAML")]),
        (["env.id=!!python/name:os.system x"], [("env.id=!!python/name:os.system x", "not allowed")]),
        (["env={max_turns: 3, max_turns: 4}"], [("env={max_turns: 3, max_turns: 4}", "max_turns: given twice")]),
        (["env=3"], [("env=3", "env: a section of keys and values; got 3")]),
        (["env.max_turns.x=3"], [("env.max_turns.x=3", "an integer")]),
        (
            ["max_turns=3"],
            [("max_turns=3", r"unknown key \(did you mean 'env.max_turns'\?\); known: env, league, members, gate, ")],
        ),
        (["members.0=tough"], [("members.0=tough", "must be a list of occupants")]),
        (
            ["league.seed=1", "league.seed=1"],
            [("league.seed=1", "given twice, before by --set league.seed=1")],
        ),
        (
            ["league.seed=1", "league={seed: 2}"],
            [("league={seed: 2}", "league.seed: given twice, before by --set league.seed=1")],
        ),
        (["league=1", "league.seed=2"], [("league=1", "a section"), ("league.seed=2", "league: given twice")]),
        (["members=[tugh]", "env.partner=x"], [("members=[tugh]", "'tugh'"), ("env.partner=x", "'x'")]),
    ],
)
def test_a_wrong_option_is_told_by_its_own_words(overrides, expected, tmp_path):
    assert_told(told("env: {max_turns: 3}\n", tmp_path, *overrides), expected)


@pytest.mark.parametrize(
    ("file", "options", "place", "words"),
    [
        ("scenarios: lewis\n  split: val", [], "3", "train, test, paper_test, all; got 'val'"),
        ("scenarios: lewis\n  split: train", ["split=val"], "env.split=val", "train, test, paper_test, all; got 'val'"),
        ("scenarios: lewis\n  split: train", ["use_dataset=true", "split=train"], "env.split=train", "no splits"),
        ("split: train", ["scenarios=lewis"], "2", "'uniform' must be one of near, beyond, or left out"),
        ("scenarios: lewis\n  use_dataset: true", [], "2", "dataset: self_play contradicts scenarios: lewis"),
        ("use_dataset: false\n  scenarios: self_play", [], "3", "use_dataset: false contradicts scenarios: self_play"),
        ("dataset: dialogues\n  scenarios: lewis", [], "3", "dataset: dialogues contradicts scenarios: lewis"),
        ("{}", ["use_dataset=true", "scenarios=lewis"], "env.scenarios=lewis", "give one of the two"),
    ],
)
def test_what_does_not_go_together_in_one_place_is_told_there(file, options, place, words, tmp_path):
    content = "env: {}\n" if file == "{}" else f"env:\n  {file}\n"
    assert_told(told(content, tmp_path, *(f"env.{option}" for option in options)), [(place, words)])
