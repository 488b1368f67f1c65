"""Debian's Chromium without a screen, told what to do through its debugging protocol."""

from __future__ import annotations

import base64
import itertools
import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import requests
import websocket

from e2e.cluster.documents import JsonObject, JsonValue, at, text_at
from e2e.cluster.errors import ClusterError
from e2e.cluster.packages import install

_PROGRAM = Path("/usr/bin/chromium")
_TOLD = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
"""Events that are told of as errors: a page without a script has nothing to say."""

_START_SECONDS = 60.0
_ANSWER_SECONDS = 60.0


@dataclass(slots=True)
class Tab:
    """A page in the browser.

    Args:
        socket: To its debugger.
        said: What its console said, and what went wrong.
        requested: Addresses that it asked for.
    """

    socket: websocket.WebSocket
    said: list[str] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    def call(self, method: str, **parameters: JsonValue) -> JsonObject:
        """Have something done, and return the answer.

        Raises:
            AssertionError: The browser refuses it.
        """
        number = next(self._numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message: JsonObject = json.loads(self.socket.recv())
            if message.get("id") == number:
                result = message.get("result")
                assert isinstance(result, dict), f"{method}: {message}"
                return result
            self._note(message)

    def _note(self, message: JsonObject) -> None:
        if message.get("method") in _TOLD:
            self.said.append(str(message["params"]))
        elif message.get("method") == "Network.requestWillBeSent":
            self.requested.append(text_at(message, "params", "request", "url"))

    def show(self, file: Path, width: int, scheme: str) -> None:
        """Show a file as a device does that is so wide.

        Args:
            file: A page of HTML.
            width: Pixels.
            scheme: ``light`` or ``dark``.
        """
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=844, deviceScaleFactor=1, mobile=width < 500
        )
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url=file.as_uri())
        while self.found("document.readyState") != "complete" or not self.found("document.title"):
            time.sleep(0.1)

    def found(self, expression: str) -> JsonValue:
        """Return the value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return at(answer, "result", "value")

    def picture(self, file: Path) -> None:
        """Write the whole page as a picture."""
        answer = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(base64.b64decode(text_at(answer, "data")))


@contextmanager
def tab() -> Iterator[Tab]:
    """Start a browser with an empty page, and end it.

    Raises:
        ClusterError: It is not there and cannot be installed, or does not start.
    """
    if not _PROGRAM.exists():
        install(["chromium"])
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")
        command = [str(_PROGRAM), *options, f"--user-data-dir={profile}", "--remote-debugging-port=0", "about:blank"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            port = _port(Path(profile) / "DevToolsActivePort", process)
            pages: list[JsonObject] = requests.get(f"http://127.0.0.1:{port}/json", timeout=_ANSWER_SECONDS).json()
            address = next(text_at(each, "webSocketDebuggerUrl") for each in pages if each["type"] == "page")
            with closing(websocket.create_connection(address, _ANSWER_SECONDS, suppress_origin=True)) as socket:
                yield Tab(socket)
        finally:
            process.terminate()
            process.wait(timeout=30)


def _port(file: Path, process: subprocess.Popen[bytes]) -> int:
    """Return the port on which the browser listens for its debugger."""
    for _ in range(int(_START_SECONDS / 0.1)):
        if process.poll() is not None:
            break
        if file.exists() and len(lines := file.read_text().splitlines()) == 2:
            return int(lines[0])
        time.sleep(0.1)
    raise ClusterError("chromium", f"does not start (status {process.poll()})", remedy="start it by hand as root")
