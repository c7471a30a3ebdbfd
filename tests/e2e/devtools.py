# SPDX-License-Identifier: GPL-2.0-or-later
"""A page in a real browser, driven by the browser's own protocol over two pipes."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import subprocess
import time
from pathlib import Path
from typing import Any

from scarplib.build.browser import Browser

OPTIONS = (
    "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run",
    "--disable-background-networking", "--hide-scrollbars", "--force-color-profile=srgb",
)  # fmt: skip
# A browser that says nothing for so long hangs; a busy host makes it slow, but it goes on.
SILENT_S = 300.0


class Page:
    """One page, and whatever it complained about."""

    def __init__(
        self, browser: Browser, scratch: Path, width: int = 1240, height: int = 1000
    ) -> None:
        command_in, self._out = os.pipe()
        self._in, command_out = os.pipe()
        # The browser's are the descriptors 3 and 4.  Not sh: dash takes those below 10 alone.
        shell = f'exec "$0" "$@" 3<&{command_in} 4>&{command_out}'
        command = ["bash", "-c", shell, "env"]
        command += [f"{name}={value}" for name, value in browser.environment.items()]
        command += [f"HOME={scratch}", str(browser.program), *OPTIONS]
        command += [f"--user-data-dir={scratch}/profile", f"--window-size={width},{height}"]
        self._log = (scratch / "browser.log").open("wb")
        self._process = subprocess.Popen(
            [*command, "about:blank"],
            pass_fds=(command_in, command_out),
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )
        os.close(command_in)
        os.close(command_out)
        self._buffer = b""
        self._number = 0
        self.complaints: list[str] = []
        self._loaded = False
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    def close(self) -> None:
        """End the browser."""
        with contextlib.suppress(OSError, RuntimeError):
            self._session = None
            self.call("Browser.close")
        os.close(self._out)
        self._process.wait()
        os.close(self._in)
        self._log.close()

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not select.select([self._in], [], [], SILENT_S)[0]:
                raise RuntimeError(f"the browser said nothing for {SILENT_S:.0f} s")
            chunk = os.read(self._in, 1 << 20)
            if not chunk:
                log = Path(self._log.name).read_text(errors="replace")
                raise RuntimeError(f"the browser ended: {log[-800:]}")
            self._buffer += chunk
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        method, said = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = said["exceptionDetails"]
            self.complaints.append(details.get("exception", details).get("description", "?"))
        elif method == "Runtime.consoleAPICalled" and said["type"] in ("error", "assert"):
            values = (str(a.get("value", a.get("description"))) for a in said["args"])
            self.complaints.append("console: " + " ".join(values))
        elif method == "Log.entryAdded" and said["entry"]["level"] == "error":
            self.complaints.append(f"log: {said['entry']['text']} {said['entry'].get('url', '')}")
        elif method == "Network.requestWillBeSent":
            url = said["request"]["url"]
            if not url.startswith(("file:", "data:", "blob:", "about:")):
                self.complaints.append(f"it asked the network for {url}")
        elif method == "Page.loadEventFired":
            self._loaded = True

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Ask the browser, and wait for its answer."""
        self._number += 1
        asked: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            asked["sessionId"] = self._session
        os.write(self._out, json.dumps(asked).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == self._number:
                break
            self._note(message)
        if "error" in message:
            raise RuntimeError(f"{method}: {message['error']}")
        result: dict[str, Any] = message["result"]
        return result

    def open(self, path: Path) -> None:
        """Load a file, and wait until it is loaded."""
        self._loaded = False
        self.call("Page.navigate", url=path.resolve().as_uri())
        while not self._loaded:
            self._note(self._message())

    def value(self, expression: str) -> Any:
        """What a script's expression is in the page; a promise is waited for."""
        done = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in done:
            details = done["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return done["result"].get("value")

    def wait(self, expression: str) -> None:
        """Until it is true."""
        deadline = time.monotonic() + SILENT_S
        while not self.value(expression):
            if time.monotonic() > deadline or self.complaints:
                raise RuntimeError(f"it did not come to '{expression}': {self.complaints}")
            time.sleep(0.05)

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """mouseMoved, mousePressed, mouseReleased, mouseWheel at a place of the window."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x: float, y: float) -> None:
        """As a hand does it."""
        self.mouse("mouseMoved", x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def screenshot(self, path: Path) -> None:
        """What is in the window, as a PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))
