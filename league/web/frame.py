"""What all pages share: head and navigation, light and dark, security headers, and the files that they work on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from nicegui import app, ui
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from league.web.allowed import Allowed
from league.web.door import Door, keep_to_own_windows
from league.web.elements import Tag
from league.web.occupants import People

STATIC = Path(__file__).with_name("static")
PAGES = (("/", "Play"), ("/league", "League"), ("/arena", "Arena"), ("/replay", "Replay"), ("/scores", "Scores"))
HOSTS = ["127.0.0.1", "localhost", "[::1]"]
# Nothing is fetched from, or sent to, anywhere else: the browser itself sees to it.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self' ws://127.0.0.1:* ws://localhost:*; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'self'; object-src 'none'"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]
# Before anything is painted: the theme that was chosen last, otherwise the system's.
THEME = """<script>
const kept = localStorage.getItem("theme");
if (kept) document.documentElement.dataset.theme = kept;
function otherTheme() {
  const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = (root.dataset.theme || (dark ? "dark" : "light")) === "dark" ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
}
</script>"""


class Desk(NamedTuple):
    """What every page is handed: where leagues and games lie, and how long a partner seems to think."""

    runs: Callable[[], list[Path]]  # the known leagues' folders, the one written last first
    book: Path  # a person's games are added here
    games: Path  # the folder whose files of games may be replayed
    data_dir: Path | None  # of the published files
    pause: float  # seconds
    allowed: Allowed = Allowed()  # whom visitors may name

    def people(self) -> People:
        """Everybody who may be chosen now. Slow: it reads ledgers."""
        return People(self.runs(), self.allowed)


class Headers:
    """Adds headers to every answer that restrict what a browser may do with it."""

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *HEADERS]
            await send(message)

        await self._inner(scope, receive, send_with_headers)


def prepare(key: str | None, loopback: str | None) -> None:
    """Files, headers and the door; once, before any page is served.

    ``key`` must be known by whoever comes in; ``loopback``: the address, where only this machine's own browser reaches
    it.
    """
    app.add_static_files("/static", str(STATIC))
    app.config.quasar_config["loadingBar"] = {"skipHijack": True}  # it is shown unnamed, and we load nothing by it
    app.config.socket_io_js_transports = ["websocket"]
    app.add_middleware(Headers)
    app.add_middleware(Door, key=key)
    if loopback is not None:  # a name that somebody else's DNS points here is refused
        own = f"[{loopback}]" if ":" in loopback else loopback
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=[*HOSTS, own])
    keep_to_own_windows()


def asset(name: str) -> str:
    """The address of a file of ours; it changes with the file, so that no browser shows an old one."""
    return f"/static/{name}?{int((STATIC / name).stat().st_mtime)}"


@contextmanager
def page(title: str) -> Iterator[None]:
    """The frame of a page; what it shows goes inside."""
    ui.page_title(f"{title} · Deal or no deal")
    ui.add_head_html(f'<link rel="stylesheet" href="{asset("style.css")}">{THEME}')
    Tag("a", "To the content", "skip", href="#content")
    with Tag("header", classes="top"):
        with Tag("a", classes="brand", href="/"):
            Tag("span", "", "mark", aria_hidden="true")
            Tag("span", "Deal or no deal")
        with Tag("nav", aria_label="Pages"):
            for path, name in PAGES:
                Tag("a", name, href=path, aria_current="page" if name == title else None)
        theme = Tag("button", "", "theme", type="button", aria_label="Light or dark", title="Light or dark")
        theme.on("click", js_handler="() => otherTheme()")
    with Tag("main", classes=f"page {title.lower()}", id="content", tabindex="-1"):
        yield
