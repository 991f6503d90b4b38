"""Pictures of every page into a folder, and the time of loading and acts; run by hand.

    python tests/league/web/tour.py --folder FOLDER --pictures docs

``FOLDER`` holds runs/league with at least one league. For the last figure a league of scripted members is played
meanwhile: its page with more than 10,000 rows of matches, while more of them arrive. Times are of this machine;
nothing asserts on them.
"""

from __future__ import annotations

import argparse
import io
import sqlite3
import statistics
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[3]
sys.path[0] = str(ROOT)

from tests.league.web.browser import NARROW, WIDE, browsing, serving  # noqa: E402  # the path is set above

LOADS, ACTS = 7, 12
ROWS, WATCHED = 10_000, 10.0  # rows of matches; seconds for which their page is watched
TOURED = "localStorage.setItem('toured', 'yes')"  # no tour of the table on top of what is looked at
# How long the browser was busy at a stretch, milliseconds, and how often the page changed.
BUSY = """() => {
  window.busy = []; window.changes = 0;
  const told = list => window.busy.push(...list.getEntries().map(entry => entry.duration));
  new PerformanceObserver(told).observe({type: "longtask"});
  new MutationObserver(() => window.changes++).observe(document.body, {childList: true, subtree: true});
}"""
# From the press of a button to the moment that the log has so many lines, in the browser's own milliseconds.
PRESSED = """async ([selector, lines]) => {
  const began = performance.now();
  document.querySelector(selector).click();
  while (document.querySelectorAll(".log li").length < lines) await new Promise(requestAnimationFrame);
  return performance.now() - began;
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--untimed", action="store_true", help="take the pictures alone")
    given = parser.parse_args()
    with serving(given.folder, "--pause", "0") as address, browsing() as browser:
        if not given.untimed:
            timed(browser, address, given.folder)
        if given.pictures is not None:
            given.pictures.mkdir(exist_ok=True)
            for size, scheme in ((WIDE, "light"), (WIDE, "dark"), (NARROW, "light"), (NARROW, "dark")):
                tour(browser, address, given.pictures, size, scheme)


def timed(browser: object, address: str, folder: Path) -> None:
    """Print how long loading and acts take."""
    loads = [first_load(browser, address) for _ in range(LOADS)]
    print(f"first page load, nothing cached: median {statistics.median(loads):.0f} ms, worst {max(loads):.0f} ms")
    for partner in ("heuristic", "expert", "best_response(to=heuristic)"):
        acts = answers(browser, address, partner)
        told = f"median {statistics.median(acts):.0f} ms, worst {max(acts):.0f} ms of {len(acts)}"
        print(f"an act answered by {partner}: {told}")
    print(followed(browser, folder / "rows"))


def first_load(browser: object, address: str) -> float:
    """Milliseconds from the navigation's start until the page can be used: built and connected."""
    context = browser.new_context(viewport=WIDE)
    page = context.new_page()
    page.goto(address)
    page.get_by_role("button", name="Deal the items").wait_for()
    page.wait_for_load_state("networkidle")
    took = page.evaluate("performance.now()")
    context.close()
    return took


def followed(browser: object, folder: Path) -> str:
    """How the page of a league of many rows loads, and how it keeps up with those that arrive."""
    folder.mkdir()  # a new one: its league is begun here
    settings = ["league.rounds=400", "league.block_size=2", "league.evaluate=false", "logging.output_dir=runs/league"]
    command = [sys.executable, str(ROOT / "scripts" / "league.py"), "--config", "configs/league_scripted.yaml"]
    (folder / "configs").symlink_to(ROOT / "configs")
    for setting in settings:
        command += ["--set", setting]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as league:
        try:
            while (before := rows_of(folder)) <= ROWS:
                assert league.poll() is None, "the league ended too early"
                time.sleep(0.5)
            with serving(folder) as address:
                context = browser.new_context(viewport=WIDE)
                page = context.new_page()
                page.goto(f"{address}/league")
                page.locator(".heat").wait_for()
                took = page.evaluate("performance.now()")
                page.evaluate(BUSY)
                page.wait_for_timeout(1000 * WATCHED)
                busy, changes = page.evaluate("[window.busy, window.changes]")
                context.close()
        finally:
            league.terminate()
    after = rows_of(folder)
    worst = f"{max(busy):.0f} ms" if busy else "less than 50 ms"
    return (
        f"a live league of {before:,} to {after:,} rows: its page is there after {took:.0f} ms; in {WATCHED:.0f} s it "
        f"changed {changes} times and was never busy for more than {worst} at a stretch"
    )


def rows_of(folder: Path) -> int:
    """Rows of matches in the newest ledger so far."""
    ledgers = sorted(folder.glob("runs/league/*/ledger.sqlite"))
    if not ledgers:
        return 0
    try:
        with closing(sqlite3.connect(f"file:{ledgers[-1]}?mode=ro", uri=True)) as ledger:
            return int(ledger.execute("SELECT count(*) FROM matches").fetchone()[0])
    except sqlite3.OperationalError:  # it has no tables yet
        return 0


def begin(page: object, partner: str, **fields: str) -> None:
    page.get_by_text("Another partner", exact=True).click()
    page.get_by_label("Name and parameters").fill(partner)
    page.get_by_text("Rules and chance").click()
    page.get_by_label("Seed").fill("7")
    page.get_by_label("Who opens").select_option("0")
    for label, value in fields.items():
        page.get_by_label(label).select_option(value)
    page.get_by_role("button", name="Deal the items").click()
    page.locator(".token").first.wait_for()


def answers(browser: object, address: str, partner: str) -> list[float]:
    """Milliseconds from the press of Propose until the partner's answer is on the page."""
    context = browser.new_context(viewport=WIDE)
    context.add_init_script(TOURED)
    page = context.new_page()
    page.goto(address)
    begin(page, partner)
    took, lines = [], 0
    while len(took) < ACTS:
        took.append(page.evaluate(PRESSED, [".act.propose", lines + 2]))
        lines += 2
        page.locator(".result, .act.propose:enabled").first.wait_for()
        if page.locator(".result").count():
            page.get_by_role("button", name="Next game").click()
            page.locator(".act.propose:enabled").wait_for()
            lines = page.locator(".log li").count()
    context.close()
    return took


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
    begin(page, "prosocial", Hints="expert")
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
    begin(newcomer, "prosocial")
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
