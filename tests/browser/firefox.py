"""Firefox without a window, spoken to by WebDriver BiDi: the standard's own messages over a web socket."""

import itertools
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import websocket

__all__ = ["Firefox", "firefox_path", "headless_firefox"]

# WebDriver's names of keys that no letter stands for.
KEYS = {"End": "\ue010", "Home": "\ue011", "ArrowLeft": "\ue012", "ArrowUp": "\ue013"}
KEYS |= {"ArrowRight": "\ue014", "ArrowDown": "\ue015"}
ANSWER_S = 60


def firefox_path() -> str | None:
    """Where Firefox is, or None."""
    return shutil.which("firefox-esr") or shutil.which("firefox")


class Firefox:
    """The first tab of a Firefox.

    Attributes:
        errors: what scripts of the pages have failed with.
    """

    def __init__(self, address: str) -> None:
        self._socket = websocket.create_connection(address, suppress_origin=True, timeout=ANSWER_S)
        self._numbers = itertools.count()
        self.errors: list[str] = []
        self._ask("session.new", capabilities={})
        self._tab = self._ask("browsingContext.getTree")["contexts"][0]["context"]
        self._ask("session.subscribe", events=["log.entryAdded"])

    def close(self) -> None:
        self._socket.close()

    def open(self, url: str) -> None:
        self._ask("browsingContext.navigate", context=self._tab, url=url, wait="complete")

    def resize(self, width: int, height: int) -> None:
        self._ask("browsingContext.setViewport", context=self._tab, viewport={"width": width, "height": height})

    def evaluate(self, function: str, argument: Any = None) -> Any:
        """What a function of the page's language gives, awaited, as JSON carries it."""
        call = f"Promise.resolve(({function})({json.dumps(argument)})).then(given => JSON.stringify(given ?? null))"
        given = self._ask("script.evaluate", expression=call, target={"context": self._tab}, awaitPromise=True)
        if given["type"] != "success":
            raise RuntimeError(given["exceptionDetails"]["text"])
        return json.loads(given["result"]["value"])

    def press(self, key: str) -> None:
        value = KEYS.get(key, key)
        self._act("key", [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}])

    def click(self, x: float, y: float) -> None:
        """Click at pixels of the window."""
        to = {"type": "pointerMove", "x": round(x), "y": round(y)}
        self._act("pointer", [to, {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}])

    def _act(self, kind: str, actions: list[dict[str, Any]]) -> None:
        self._ask("input.performActions", context=self._tab, actions=[{"type": kind, "id": kind, "actions": actions}])

    def _ask(self, method: str, **params: Any) -> Any:
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("method") == "log.entryAdded" and message["params"].get("type") == "javascript":
                self.errors.append(message["params"]["text"])
            if message.get("id") == number:
                if message["type"] == "error":
                    raise RuntimeError(f"{method}: {message['message']}")
                return message["result"]


@contextmanager
def headless_firefox(profile: Path) -> Iterator[Firefox]:
    """A Firefox of our own, which ends with the block; `profile` is an empty folder for what it keeps."""
    command = [str(firefox_path()), "--headless", "--no-remote", "--profile", str(profile)]
    listening = profile / "WebDriverBiDiServer.json"
    with subprocess.Popen([*command, "--remote-debugging-port", "0"], stderr=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + ANSWER_S
            while not listening.exists() or not listening.read_text():
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"Firefox did not begin to listen within {ANSWER_S} s")
                time.sleep(0.1)
            at = json.loads(listening.read_text())
            with closing(Firefox(f"ws://{at['ws_host']}:{at['ws_port']}/session")) as firefox:
                yield firefox
        finally:
            process.kill()
