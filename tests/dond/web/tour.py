"""Pictures of every page into a folder; run by hand.

    python tests/dond/web/tour.py --folder FOLDER --pictures PICTURES

``FOLDER`` holds runs/league with at least one league. The pages of docs show three of the pictures, wide and light:
play, result and league.
"""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[3]
sys.path[0] = str(ROOT)

from tests.dond.web.browser import NARROW, WIDE, begin, browsing, serving  # noqa: E402  # the path is set above

TOURED = "localStorage.setItem('toured', 'yes')"  # no tour of the table on top of what is looked at


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--pictures", type=Path, required=True)
    given = parser.parse_args()
    with serving(given.folder, "--pause", "0") as address, browsing() as browser:
        given.pictures.mkdir(exist_ok=True)
        for size, scheme in ((WIDE, "light"), (WIDE, "dark"), (NARROW, "light"), (NARROW, "dark")):
            tour(browser, address, given.pictures, size, scheme)


def tour(browser: object, address: str, folder: Path, size: dict[str, int], scheme: str) -> None:
    """A picture of every page."""
    context = browser.new_context(viewport=size, color_scheme=scheme, reduced_motion="reduce")
    context.add_init_script(TOURED)
    page = context.new_page()
    page.set_default_timeout(120_000)  # a busy machine is no failure
    width = "wide" if size == WIDE else "narrow"

    def picture(name: str, *, whole: bool = True, of: object = page) -> None:
        of.wait_for_timeout(400)  # what moves has arrived
        taken = Image.open(io.BytesIO(of.screenshot(full_page=whole))).convert("RGB")
        few = taken.quantize(256, kmeans=2, dither=Image.Dither.NONE)  # the colors are flat: a third of the size
        few.save(folder / f"web_{name}_{width}_{scheme}.png", optimize=True)

    page.goto(address)
    page.get_by_role("button", name="Deal the items").wait_for()
    picture("choose", whole=size == WIDE)
    begin(page, "prosocial", seed="7", Hints="expert")
    page.get_by_role("checkbox", name="book 1 of").click()
    page.get_by_role("button", name="Propose").click()
    page.locator(".log li").nth(1).wait_for()
    picture("play")
    page.get_by_role("button", name="Accept").click()
    page.locator(".plane").wait_for()
    page.locator(".judgement").first.wait_for()
    picture("result")
    for _ in range(3):  # some games for the scores
        page.get_by_role("button", name="Next game").click()
        page.locator(".act.propose:enabled").wait_for()
        page.get_by_role("button", name="Stop talking").click()
        page.get_by_role("button", name="Yes: stop talking").click()
        page.locator(".judgement").first.wait_for()
    page.goto(f"{address}/scores")
    page.locator(".score-cards .chart").first.wait_for()
    picture("scores")
    page.goto(f"{address}/league")
    page.locator(".heat").wait_for()
    picture("league")
    page.goto(f"{address}/replay?file=runs/human/games.jsonl&game=1")
    page.get_by_role("link", name="Next act").click()
    page.get_by_text("Act 2 of").wait_for()
    page.locator(".policy").wait_for()
    page.locator(".judgement").first.wait_for()
    picture("replay")
    untoured = browser.new_context(viewport=size, color_scheme=scheme, reduced_motion="reduce")
    newcomer = untoured.new_page()
    newcomer.goto(address)
    begin(newcomer, "prosocial", seed="7")
    newcomer.locator(".tour").wait_for()
    picture("tour", of=newcomer, whole=False)
    untoured.close()
    page.goto(f"{address}/arena")
    page.get_by_role("button", name="Play the match").click()
    page.locator(".landing").wait_for()
    picture("arena")
    context.close()


if __name__ == "__main__":
    main()
