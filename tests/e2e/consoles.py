"""`soliloquy up` with its console, as a user starts it, and what a browser does there."""

import hashlib
import json
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soliloquy.runtime.http_server import CannotListen, listening
from tests.e2e.chromium import Page
from tests.e2e.runs import SOLILOQUY, start, worker_named

OPERATOR, READER = "an operator's token", "a reader's token"
_TOKENS = {"grace": ("operator", OPERATOR), "ada": ("reader", READER)}
NOBODY = "http://127.0.0.1:9/v1"
TITLE = "document.querySelector('h1')?.textContent"
STATE = "document.querySelector('.titled .state')?.textContent"


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    process: subprocess.Popen[str]
    address: str

    @property
    def gateway(self) -> int:
        """The process of the gateway; it is started again where it dies."""
        return worker_named(self.process.pid, "gateway")

    def call(self, method: str, path: str, body: Any = None, *, token: str = OPERATOR) -> Any:
        """As an operator, past the console."""
        headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        content = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(f"{self.address}{path}", content, headers, method=method)
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return json.load(answer)

    def started(
        self,
        conversations: int,
        *,
        request_id: str,
        problems: str = "physics",
        token: str = OPERATOR,
        **settings: int | str,
    ) -> str:
        """The id of a run."""
        request = {"recipe": "soliloquy", "problems": problems, "conversations": conversations, **settings}
        return str(self.call("POST", "/v1/runs", {"request_id": request_id, "request": request}, token=token)["id"])


@contextmanager
def site(
    folder: Path, *options: str, tenants: Mapping[str, str] | None = None, annotators: Mapping[str, str] | None = None
) -> Iterator[Site]:
    """Each of the tenants has an operator, whose token this mapping gives, and each annotator a token."""
    tokens = folder / "tokens.toml"
    entries = [_entry(name, *entry) for name, entry in _TOKENS.items()]
    entries += [
        f'{_entry(f"of {name}", "operator", token)}tenant = "{name}"\n' for name, token in (tenants or {}).items()
    ]
    entries += [_entry(name, "annotator", token) for name, token in (annotators or {}).items()]
    tokens.write_text("\n".join(entries), "utf-8")
    address = f"127.0.0.1:{_two_free_ports()}"
    arguments = [SOLILOQUY, "up", "--console", address, "--data", str(folder / "data"), "--tokens", str(tokens)]
    process = start([*arguments, *options])
    try:
        _wait_for(f"http://{address}/v1/session", process)
        yield Site(process=process, address=f"http://{address}")
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)


def _entry(name: str, role: str, token: str) -> str:
    digest = hashlib.sha256(token.encode()).hexdigest()
    return f'[[token]]\nname = "{name}"\nrole = "{role}"\nsha256 = "{digest}"\n'


def _two_free_ports() -> int:
    """Returns the first of two free ports; gRPC uses the next one."""
    while True:
        with listening("127.0.0.1:0") as listener:
            port: int = listener.getsockname()[1]
            try:
                with listening(f"127.0.0.1:{port + 1}"):
                    return port
            except CannotListen:
                continue


def _wait_for(address: str, process: subprocess.Popen[str], *, seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not _answers(address):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, f"{address} is not there after {seconds} s"
        time.sleep(0.05)


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5):
            return True
    except OSError:
        return False


async def signed_in(page: Page, site: Site, token: str = OPERATOR) -> None:
    await page.sized(1280, 800)
    await page.open(site.address)
    await page.until("document.getElementById('token')")
    await page.fill("#token", token)
    await page.press("Enter")
    await page.until(f"{TITLE} === 'Runs'")


async def gone(page: Page, place: str, title: str) -> None:
    """To a page of the console, until it is there."""
    await page.evaluate(f"location.hash = {'#/' + place!r}")
    await page.until(f"{TITLE} === {title!r}")


async def opened(page: Page, run: str, conversation: int = 0) -> None:
    """A conversation of a run, by its place in the list, with all that is folded in it."""
    await page.evaluate(f"location.hash = '#/runs/{run}'")
    await page.until(f"document.querySelectorAll('.list a').length > {conversation}")
    await page.evaluate(f"document.querySelectorAll('.list a')[{conversation}].click()")
    await page.until("document.querySelector('.turns > li')")
    await page.evaluate("document.querySelectorAll('details').forEach((folded) => { folded.open = true; })")


async def start_pressed(page: Page, *, conversations: int) -> None:
    """On the form that the list of runs leads to."""
    await page.click("a", "Start a run")
    await page.until("document.querySelector('dialog[open] #conversations')")
    await page.fill("#conversations", str(conversations))
    await page.evaluate("document.getElementById('problems').value = 'physics'")
    await page.click("dialog .primary")


async def losing(page: Page, lost: str, *, after: bool = False) -> None:
    """Loses the next call that fits the JavaScript condition, before the gateway gets it or after it has answered."""
    send = "await real(path, options);" if after else ""
    await page.evaluate(
        "(() => { const real = fetch; window.fetch = async (path, options) => {"
        f"if (!({lost})) return real(path, options);"
        f"window.fetch = real; {send} throw new TypeError('lost'); }}; }})()"
    )


async def chosen(page: Page, field: str, value: str) -> None:
    """In a list of choices, by the id of the list."""
    found = f"document.getElementById({field!r})"
    told = "".join(f"{found}.dispatchEvent(new Event({kind!r}, {{bubbles: true}}));" for kind in ("input", "change"))
    await page.evaluate(f"{found}.value = {value!r}; {told}")


async def talked(page: Page, text: str) -> str:
    """One message to the tutor of the chat that is open; what it replies."""
    turns = await page.evaluate("document.querySelectorAll('.talk > li').length")
    await page.until(
        "!document.getElementById('say').disabled && !document.querySelector('.writing .primary').disabled"
    )
    await page.fill("#say", text)
    await page.press("Enter")
    await page.until(f"document.querySelectorAll('.talk > li').length > {turns} && !document.querySelector('.live')")
    return str(await page.evaluate("[...document.querySelectorAll('.talk .tutor .bubble')].at(-1).textContent"))
