"""The pages of a study in a real browser: keyboard, no scripts, all sizes, accessibility."""

from __future__ import annotations

import pytest

from tests.dond.study.test_whole_study import server as server  # a fixture
from tests.dond.web.browser import NARROW, WIDE, browsing, found_by_axe, missing

pytestmark = [pytest.mark.slow, pytest.mark.skipif(missing() is not None, reason=str(missing()))]


@pytest.fixture(scope="module")
def browser():
    with browsing() as one:
        yield one


def entered(page, address, look=lambda name: None):
    """Up to the button that begins the first game."""
    page.goto(address)
    look("consent")
    page.get_by_role("checkbox").check()
    page.get_by_role("button", name="Take part").click()
    look("instructions")
    page.get_by_role("button", name="Continue").click()
    look("check")
    for place, right in enumerate((3, 1, 2)):
        page.locator(f"input[name=q{place}][value='{right}']").check()
    page.get_by_role("button", name="Answer").click()
    look("ready")


@pytest.mark.parametrize(("size", "scheme"), [(NARROW, "dark"), (WIDE, "light")])
def test_axe_on_all_pages(server, browser, size, scheme):
    contexts = [browser.new_context(viewport=size, color_scheme=scheme, reduced_motion="reduce") for _ in range(5)]
    seen = set()
    for context in contexts:  # five places of a block: every condition, and two who meet
        page = context.new_page()
        page.set_default_timeout(60_000)

        def look(name, page=page):
            if name not in seen:
                assert found_by_axe(page) == [], name
                seen.add(name)

        entered(page, server.address, look)
        page.get_by_role("button", name="Begin").click()
        if page.get_by_text("Waiting for another person").count():
            look("waiting")
            continue
        if page.locator("h1", has_text="is thinking").count():
            look("theirs")
            continue
        look("game")
        page.get_by_role("button", name="Walk away").click()
        look("sure")
        page.get_by_role("link", name="No").click()
        page.get_by_role("button", name="Walk away").click()
        page.get_by_role("button", name="Yes").click()
        look("result")
        page.get_by_role("button", name="Stop taking part").click()
        look("leave")
        page.get_by_role("link", name="No, go on").click()
        page.get_by_role("button", name="Continue").click()
        for _ in range(4):
            page.get_by_role("button", name="Walk away").click()
            page.get_by_role("button", name="Yes").click()
            page.get_by_role("button", name="Continue").click()
        look("questions")
        for name in ("fair", "again", "partner"):
            page.locator(f"input[name={name}]").first.check()
        page.get_by_role("button", name="Finish").click()
        look("done")
    assert {"game", "sure", "result", "waiting", "questions", "done", "leave"} <= seen
    for context in contexts:
        context.close()
