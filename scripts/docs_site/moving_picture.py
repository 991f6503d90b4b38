"""Record a game on the page, played by a headless Chromium.

python -m scripts.docs_site.moving_picture docs/page.gif
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

from tests.dond.web.browser import begin, browsing, serving

WIDTH, HEIGHT, TOP, SCALE = 1080, 674, 52, 880 / 1080  # of the page, without its header; the picture is 880 wide
LOOK = """<style>
.table, .panel { box-shadow: none !important }
#pointer { position: fixed; z-index: 9; inset: -13px auto auto -13px; width: 26px; height: 26px; border: 2px solid #fff;
  border-radius: 50%; background: rgb(30 30 30 / 30%); pointer-events: none }</style><i id="pointer"></i>"""
START = f"""localStorage.setItem("toured", "yes");
addEventListener("DOMContentLoaded", () => document.documentElement.insertAdjacentHTML("beforeend", `{LOOK}`));"""
MOVE = "([x, y]) => { document.getElementById('pointer').style.translate = `${x}px ${y}px`; }"
FREEZE = "(at) => document.getAnimations().forEach((one) => { one.pause(); one.currentTime = at; })"
SCROLL = "(part) => scrollTo(0, part * (document.querySelector('.analysis').offsetTop - 64))"


def record(browser: Any, out: Path) -> None:
    """Write the moving picture of one game: sort, propose, accept the counter-offer, result, analysis."""
    frames: list[tuple[Image.Image, int]] = []  # with milliseconds
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder), "--pause", "2") as address:
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=SCALE)
        page.add_init_script(START)

        def show(time: int, *moments: int) -> None:
            """A frame of ``time`` milliseconds, after frames at ``moments`` of what moves."""
            for moment in (*moments, 5000):
                page.evaluate(FREEZE, moment)
                image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
                frames.append((image.crop((0, round(TOP * SCALE), *image.size)), 60 if moment < 5000 else time))

        def point(x: float, y: float, time: int) -> None:
            page.evaluate(MOVE, [x, y])
            show(time)

        def press(selector: str, wait: str, time: int, *moments: int) -> None:
            """Press what ``selector`` finds last, and show the page once ``wait`` is there."""
            target = page.locator(selector).last
            box = target.bounding_box()
            point(box["x"] + box["width"] * 0.75, box["y"] + box["height"] * 0.6, 400)
            target.click()
            page.locator(wait).first.wait_for()
            show(time, *moments)

        page.goto(address)
        begin(page, "prosocial", seed="46")
        page.mouse.move(0, 0)
        point(WIDTH * 0.8, HEIGHT * 0.9, 800)
        press('.token:has([aria-label^="hat 2"])', ".act.propose:enabled", 600, 60, 120, 190)
        press(".act.propose", ".thinking:not([hidden])", 500)
        page.locator(".act.agree:enabled").wait_for()
        show(1300)
        press("[data-lay]", ".act.agree.primary", 600, 60, 120, 190)
        press(".act.agree", ".judged", 60)
        point(WIDTH * 0.8, HEIGHT * 0.9, 2200)
        for part in (0.3, 0.7, 1):
            page.evaluate(SCROLL, part)
            show(60 if part < 1 else 400)
        for judged in page.locator(".judgement").all():
            box = judged.bounding_box()
            point(box["x"] + 20, box["y"] + 32, 1500)
    stills = [image for image, time in frames if time > 500]  # which hold all colors
    together = Image.new("RGB", (stills[0].width, stills[0].height * len(stills)))
    for number, image in enumerate(stills):
        together.paste(image, (0, number * image.height))
    palette = together.quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE)
    first, *later = (image.quantize(palette=palette, dither=Image.Dither.NONE) for image, _ in frames)
    first.save(out, save_all=True, append_images=later, duration=[time for _, time in frames], loop=0)


if __name__ == "__main__":
    with browsing() as chromium:
        record(chromium, Path(sys.argv[1]))
