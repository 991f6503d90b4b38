"""A folder with a league and games, the pages over it, and a browser that looks at them."""

from __future__ import annotations

import shutil
from urllib.parse import urlsplit

import pytest

from dond_marl.game import Rules, State, apply
from dond_marl.records.record import record_of, to_line
from tests.dond.web.browser import HOSTILE, SCENARIO, TALK, WIDE, as_after, browsing, change_seed, serving


@pytest.fixture(scope="package")
def folder(tmp_path_factory, finished_league):
    """A place with two leagues, of the newer one two rounds at first, and a file of games by hostile names."""
    place = tmp_path_factory.mktemp("web")
    shutil.copytree(finished_league, place / "runs" / "league" / "0001")
    as_after(finished_league, 9, place / "growing" / "0002")
    change_seed(place / "growing" / "0002", 77)
    as_after(finished_league, 2, place / "growing" / "0001")
    state = State(SCENARIO, Rules())
    for action in TALK:
        state = apply(state, action)
    (place / "runs" / "games").mkdir(parents=True)
    names = (HOSTILE[:2], ("heuristic", "expert"))
    told = [record_of(state, pair, source="lewis, split train", seed=1) for pair in names]
    (place / "runs" / "games" / "told.jsonl").write_text("".join(f"{to_line(record)}\n" for record in told))
    return place


@pytest.fixture(scope="package")
def address(folder):
    with serving(folder, "--pause", "0", "--runs", "growing") as at:
        yield at


@pytest.fixture(scope="module")
def browser():
    with browsing() as one:
        yield one


@pytest.fixture
def look(browser, address):
    """Open a page of a fresh browser window; its complaints and requests are checked afterwards."""
    contexts, problems, asked = [], [], set()

    def open_(path="/", size=WIDE, scheme="light", *, toured=True):
        context = browser.new_context(viewport=size, color_scheme=scheme, reduced_motion="reduce")
        contexts.append(context)
        if toured:
            context.add_init_script("localStorage.setItem('toured', 'yes')")
        page = context.new_page()
        page.set_default_timeout(60_000)  # a busy machine is no failure
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda line: problems.append(line.text) if line.type in ("error", "warning") else None)
        page.on("request", lambda request: asked.add(urlsplit(request.url).netloc))
        page.goto(address + path)
        return page

    yield open_
    pwned = [page.evaluate("window.pwned") for context in contexts for page in context.pages]
    for context in contexts:
        context.close()
    assert problems == []
    assert not any(pwned)
    assert asked <= {urlsplit(address).netloc}, "a request left the machine"
