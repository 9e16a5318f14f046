"""A headless Chromium for the tests, driven over its DevTools; where none can be had, they are skipped."""

import asyncio
import base64
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from benchmarks.processes import cpu_seconds, family, stats

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(BROWSER is None, reason="needs Chromium (apt-get install chromium)")
_KEYS = {"Enter": (13, "\r"), "Escape": (27, ""), "ArrowDown": (40, ""), "ArrowUp": (38, ""), "Tab": (9, "")}


class Page:
    """One tab; what it complains of is kept."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, pid: int) -> None:
        self._socket = socket
        self._pid = pid
        self._numbers = count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._loaded = asyncio.Event()
        self.complaints: list[str] = []
        self.requests: list[str] = []

    async def open(self, address: str) -> None:
        """Until the whole of it is read."""
        self._loaded.clear()
        await self.call("Page.navigate", url=address)
        await self._loaded.wait()

    async def open_anew(self, address: str) -> None:
        """On a wide screen, with nothing left of the page before."""
        self.complaints.clear()
        self.requests.clear()
        await self.sized(1280, 800)
        await self.coloured("light")
        await self.open("about:blank")
        await self.open(address)

    async def reload(self) -> None:
        self._loaded.clear()
        await self.call("Page.reload")
        await self._loaded.wait()

    async def evaluate(self, expression: str) -> Any:
        answer = await self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    async def until(self, condition: str, *, seconds: float = 60) -> None:
        look = f"const look = () => {{ ({condition}) ? done() : setTimeout(look, 10); }}; look();"
        async with asyncio.timeout(seconds):
            await self.evaluate(f"new Promise((done) => {{ {look} }})")

    def cpu_seconds(self) -> float:
        """Returns the CPU time of the browser so far, which does not grow when other work slows it down."""
        known = stats()
        return sum(cpu_seconds(known[pid]) for pid in family([self._pid], known))

    async def press(self, key: str) -> None:
        code, text = _KEYS.get(key) or (ord(key.upper()), key)
        for kind in ("keyDown", "keyUp"):
            pressed = {
                "type": kind,
                "key": key,
                "windowsVirtualKeyCode": code,
                "text": text if kind == "keyDown" else "",
            }
            await self.call("Input.dispatchKeyEvent", **pressed)

    async def fill(self, selector: str, text: str) -> None:
        """In the place of what a field holds."""
        await self.evaluate(
            f"(() => {{ const field = document.querySelector({selector!r}); field.focus(); field.select(); }})()"
        )
        await self.write(text)

    async def click(self, selector: str, text: str = "") -> None:
        """The first that is so called, as soon as it is there."""
        found = f"[...document.querySelectorAll({selector!r})].find((one) => one.textContent.includes({text!r}))"
        await self.until(f"{found} && !{found}.disabled")
        await self.evaluate(f"{found}.click()")

    async def write(self, text: str) -> None:
        await self.call("Input.insertText", text=text)

    async def sized(self, width: int, height: int, *, scale: float = 1, mobile: bool = False) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": mobile}
        await self.call("Emulation.setDeviceMetricsOverride", **size)

    async def coloured(self, scheme: str) -> None:
        await self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    async def picture(self, path: Path, *, whole: bool = False) -> None:
        shot = await self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        self._answers[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        return await self._answers[number]

    async def listen(self) -> None:
        async for message in self._socket:
            told = json.loads(message.data)
            if (number := told.get("id")) is not None:
                answer = self._answers.pop(number)
                if "error" in told:
                    answer.set_exception(RuntimeError(told["error"]["message"]))
                else:
                    answer.set_result(told["result"])
            else:
                self._take(told["method"], told["params"])

    def _take(self, method: str, told: dict[str, Any]) -> None:
        match method:
            case "Page.loadEventFired":
                self._loaded.set()
            case "Runtime.exceptionThrown":
                self.complaints.append(str(told["exceptionDetails"].get("exception", told)))
            case "Runtime.consoleAPICalled" if told["type"] in ("error", "warning"):
                self.complaints.append(str(told["args"]))
            case "Log.entryAdded" if told["entry"]["level"] in ("error", "warning"):
                self.complaints.append(told["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(told["request"]["url"])


@asynccontextmanager
async def chromium(profile: Path, *, offline: bool = True) -> AsyncIterator[Page]:
    """Blocks servers on this machine too, unless `offline` is False."""
    assert BROWSER is not None, "no Chromium"
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    process = await asyncio.create_subprocess_exec(
        *(BROWSER, *options, "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank"),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        port = await _port(profile / "DevToolsActivePort", process)
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                [target] = [target for target in await answer.json() if target["type"] == "page"]
            async with session.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                page = Page(socket, process.pid)
                listening = asyncio.create_task(page.listen())
                for domain in ("Page", "Runtime", "Log", "Network"):
                    await page.call(f"{domain}.enable")
                conditions = {"offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
                await page.call("Network.emulateNetworkConditions", **conditions)
                yield page
                listening.cancel()
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def _port(told: Path, process: asyncio.subprocess.Process, *, seconds: float = 30) -> int:
    async with asyncio.timeout(seconds):
        while not (told.exists() and told.read_text("utf-8").count("\n")):
            assert process.returncode is None, f"{BROWSER} ended with {process.returncode}"
            await asyncio.sleep(0.02)
    return int(told.read_text("utf-8").splitlines()[0])
