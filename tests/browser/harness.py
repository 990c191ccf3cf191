"""A JupyterLab server of our own, and one of its notebooks in headless Chromium.

Commands go through JupyterLab's own application object, since a click on "Run All" before the kernel is attached does
nothing; sliders are moved from the keyboard, as a reader would.
"""

import json
import os
import secrets
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

__all__ = [
    "CELLS",
    "HOW_TO_INSTALL",
    "PATIENCE_MS",
    "PICTURE_IS",
    "NotebookPage",
    "Server",
    "chromium_path",
    "comes_to_be",
    "headless_chromium",
    "serve",
]

PATIENCE_MS = 60_000
expect.set_options(timeout=PATIENCE_MS)
HOW_TO_INSTALL = "no Chromium found; install it: sudo apt-get update && sudo apt-get install chromium"
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-quic", "--disable-sync"]
SETTINGS = json.loads((Path(__file__).parents[2] / ".jupyterlab-settings.json").read_text())  # what `make lab` sets
DESK = [  # so does it
    "--FileContentsManager.post_save_hook=course_lib.desk.start.after_save",
    f"--LabApp.extra_labextensions_path={Path(__file__).parents[2] / '.jupyterlab/labextensions'}",
]
FOR_TESTS = {
    "@jupyterlab/apputils-extension:notification": {"doNotDisturbMode": True},
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},  # cells out of sight are rendered too
}

RUN_ALL = """async () => {
  const panel = window.jupyterapp.shell.currentWidget;
  await panel.context.ready;
  await panel.sessionContext.ready;
  await panel.sessionContext.session.kernel.info;
  await window.jupyterapp.commands.execute('notebook:run-all-cells');
}"""
SAVE_AND_CLOSE = """async () => {
  const { shell, commands } = window.jupyterapp;
  await commands.execute('docmanager:save');
  await shell.currentWidget.sessionContext.shutdown();
}"""
# A control sends its next value when the kernel has done with the one before, so asking once is not enough.
SETTLE = """async () => {
  const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
  for (let round = 0; round < 3; round += 1) await kernel.requestExecute({ code: '', silent: true }).done;
}"""
# A promise of the milliseconds from the key to the first frame with other pictures; null if they stay as they are.
ANSWER = """handle => {
  const pictures = handle.closest('.explorer').querySelector('.explorer-pictures');
  let pressed;
  handle.addEventListener('keydown', () => { pressed = performance.now(); }, { once: true, capture: true });
  window.answer = new Promise(done => {
    const noted = new MutationObserver(() => {
      noted.disconnect();
      requestAnimationFrame(() => done(performance.now() - pressed));
    });
    noted.observe(pictures, { subtree: true, childList: true, characterData: true, attributes: true });
    setTimeout(() => { noted.disconnect(); done(null); }, 3000);
  });
}"""
ACTIVE = "() => window.jupyterapp.shell.currentWidget.content.activeCellIndex"
CELLS = "() => window.jupyterapp.shell.currentWidget.content.model.toJSON().cells"
IDLE = "() => window.jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status === 'idle'"
CHANGE_THEME = "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })"
THEME_IS = "theme => document.body.dataset.jpThemeName === theme && !document.getElementById('jupyterlab-splash')"
PICTURE = "area => [...area.querySelectorAll('img, svg')].map(picture => picture.src ?? picture.outerHTML).join('|')"
PICTURE_IS = f"([area, text]) => ({PICTURE})(area) === text"
PICTURE_CHANGED = f"([area, before]) => ({PICTURE})(area) !== before"


@dataclass(frozen=True)
class Server:
    """Where a JupyterLab answers, and the token that opens it."""

    url: str
    token: str


def chromium_path() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def comes_to_be(page: Page, read: Callable[[], object], wanted: object) -> None:
    """Read again and again until `read` gives what is wanted: a page is laid out, and hears from its kernel, later.

    Raises:
        AssertionError: if it gives something else for a minute.
    """
    end_s = time.monotonic() + PATIENCE_MS / 1000
    while (found := read()) != wanted and time.monotonic() < end_s:
        page.wait_for_timeout(50)
    assert found == wanted, f"{found!r}, not {wanted!r}"


@contextmanager
def headless_chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def serve(
    root: Path, home: Path, *options: str, workspaces: Path | None = None, start_timeout_s: float = 120
) -> Iterator[Server]:
    """Serve the notebooks under `root` with settings, log, layout and run files of their own under `home`."""
    _write_settings(home / "settings")
    token = secrets.token_hex(16)
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0"]
    command += ["--expose-app-in-browser", f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={root}"]
    command += ["--LabApp.extension_manager=readonly", *DESK, *options]
    environment = _environment(home) | {"JUPYTERLAB_WORKSPACES_DIR": str(workspaces or home / "workspaces")}
    with (home / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment)
    try:
        yield Server(_wait_for_url(home, token, process, start_timeout_s), token)
    finally:
        process.terminate()
        process.wait(timeout=30)


class NotebookPage:
    """One notebook, open in JupyterLab."""

    def __init__(self, browser: Browser, server: Server, path: str) -> None:
        self.page: Page = browser.new_page(viewport={"width": 1280, "height": 1000})
        self.page.set_default_timeout(PATIENCE_MS)
        self.script_errors: list[str] = []
        self.page.on("pageerror", lambda error: self.script_errors.append(str(error)))
        self._url = f"{server.url}/lab/tree/{path}?token={server.token}&reset"
        self.open()

    def open(self) -> None:
        """Open the notebook, or open it anew."""
        self.page.goto(self._url)
        self.page.wait_for_selector(".jp-Notebook .jp-Cell")
        self.page.wait_for_function("() => window.jupyterapp?.shell?.currentWidget?.sessionContext")

    def run_all(self) -> None:
        """Run all cells; return when the last one has run and the kernel is idle."""
        self.page.evaluate(RUN_ALL)
        self.page.wait_for_function(IDLE)

    def settle(self) -> None:
        """Return when the kernel has done all that was asked of it."""
        self.page.evaluate(SETTLE)

    def save_and_shut_down(self) -> None:
        """Save the notebook and end its kernel."""
        self.page.evaluate(SAVE_AND_CLOSE)

    def cells(self) -> list[tuple[str, str]]:
        """Return the kind and the source of each cell."""
        return [(cell["cell_type"], cell["source"]) for cell in self.page.evaluate(CELLS)]

    def active_cell(self) -> int:
        return self.page.evaluate(ACTIVE)

    def errors(self) -> list[str]:
        """Return the error of each cell that has one."""
        outputs = [output for cell in self.page.evaluate(CELLS) for output in cell.get("outputs", [])]
        return [f"{o['ename']}: {o['evalue']}" for o in outputs if o["output_type"] == "error"]

    def slider(self, index: int = 0) -> Locator:
        return self.page.locator(".jp-OutputArea .widget-slider .noUi-handle").nth(index)

    def output_of(self, part: Locator) -> Locator:
        """Return the output area that `part` is in."""
        return part.locator("xpath=ancestor::div[contains(concat(' ', @class, ' '), ' jp-OutputArea ')][last()]")

    def picture_of(self, part: Locator) -> str:
        """Return what all pictures in the output of `part` show."""
        return self.output_of(part).evaluate(PICTURE)

    def move_slider(self, slider: Locator, key: str = "ArrowRight") -> None:
        """Press `key` on `slider`, and return when the picture in its output has changed.

        Raises:
            playwright.sync_api.TimeoutError: if the picture stays the same for a minute.
        """
        area = self.output_of(slider).element_handle()
        before = self.picture_of(slider)
        slider.scroll_into_view_if_needed()
        slider.focus()
        self.page.keyboard.press(key)
        self.page.wait_for_function(PICTURE_CHANGED, arg=[area, before])

    def response_ms(self, slider: Locator, key: str) -> float | None:
        """Press `key` on `slider` and return how long its explorer takes to show it; None if nothing changes."""
        slider.focus()
        slider.evaluate(ANSWER)
        self.page.keyboard.press(key)
        answer = self.page.evaluate("() => window.answer")
        self.page.wait_for_function(IDLE)
        return answer

    def use_theme(self, theme: str) -> None:
        """Switch to "JupyterLab Dark" or "JupyterLab Light"."""
        self.page.evaluate(CHANGE_THEME, theme)
        self.page.wait_for_function(THEME_IS, arg=theme)

    def screenshot(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=path)
        return path

    def close(self) -> None:
        self.page.close()


def _write_settings(folder: Path) -> None:
    for name in {**SETTINGS, **FOR_TESTS}:
        values = SETTINGS.get(name, {}) | FOR_TESTS.get(name, {})
        path = folder / f"{name.replace(':', '/')}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))


def _environment(home: Path) -> dict[str, str]:
    """Return an environment in which this server shares nothing with the user's own."""
    return os.environ | {
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
    }


def _wait_for_url(home: Path, token: str, process: subprocess.Popen, timeout_s: float) -> str:
    """Return the server's address, which it writes to a file of its own once it has chosen a port."""
    end_s = time.monotonic() + timeout_s
    while process.poll() is None and time.monotonic() < end_s:
        for file in (home / "runtime").glob("jpserver-*.json"):
            try:
                url = json.loads(file.read_text())["url"].rstrip("/")
                with urllib.request.urlopen(f"{url}/api/status?token={token}", timeout=5):
                    return url
            except (OSError, ValueError):
                pass  # half written, or not yet listening
        time.sleep(0.1)
    raise RuntimeError(f"JupyterLab did not start:\n{(home / 'log').read_text()[-2000:]}")
