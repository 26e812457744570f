"""Start JupyterLab, open a notebook in Chromium, run it, look at it.

The browser tests are built on this module. From the command line it takes pictures for a review by eye:

    python tests/browser/jupyterlab.py shots notebooks/03_expected_tokens.ipynb --out shots --theme dark --run

saves one picture per screenful, from the top of the notebook to its end.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--force-color-profile=srgb",
]
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
SETTINGS = {
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
    "@jupyterlab/apputils-extension/notification": {
        "fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True,
    },
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
}
# Lines on the console that are the browser's or JupyterLab's own, whatever notebook is open.
HARMLESS = re.compile(r"favicon|ResizeObserver loop")

NOTEBOOK = ".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook"
PROMPTS_JS = """(root) => [...document.querySelectorAll(root + ' .jp-CodeCell')].map(
    cell => (cell.querySelector('.jp-InputPrompt')?.textContent ?? '').trim())"""
# Tracebacks and stderr look alike to the page. A cell tagged for either shows what it was written to show.
ERRORS_JS = """() => window.jupyterapp.shell.currentWidget.content.widgets
    .filter(cell => cell.model.type === 'code').flatMap((cell, i) =>
        (cell.model.getMetadata('tags') ?? [])
            .some(tag => ['raises-exception', 'allow-stderr'].includes(tag)) ? [] :
        [...cell.node.querySelectorAll(['stderr', 'error'].map(
            kind => `[data-mime-type="application/vnd.jupyter.${kind}"]`).join())]
        .map(out => `code cell ${i + 1}: ${out.textContent.trim().slice(0, 600)}`))"""
# True once the model has been loaded, every cell of it is shown, and its kernel waits for work.
READY_JS = """(root) => {
    const panel = window.jupyterapp?.shell.currentWidget;
    return panel?.context?.isReady && panel.sessionContext.isReady
        && panel.sessionContext.session?.kernel?.status === 'idle'
        && panel.content.model.cells.length === document.querySelectorAll(root + ' .jp-Cell').length;
}"""
# True once every cell has run, or one has failed and the kernel has had nothing to do for two seconds.
FINISHED_JS = f"""(root) => {{
    const prompts = ({PROMPTS_JS})(root), now = performance.now();
    if (prompts.every(p => /^\\[\\d+\\]:$/.test(p))) return true;
    const idle = document.querySelector('.jp-Notebook-ExecutionIndicator')?.dataset.status === 'idle';
    const failed = ({ERRORS_JS})().length > 0;
    const state = prompts.join() + idle;
    if (!(failed && idle) || window.courseState !== state)
        [window.courseState, window.courseSince] = [state, now];
    return failed && idle && now - window.courseSince > 2000;
}}"""


def find_chromium() -> str | None:
    """Path of the Chromium to drive: $CHROMIUM, else the first of the usual names on PATH, else None."""
    chosen = os.environ.get("CHROMIUM")
    if chosen:
        return chosen
    return next((path for name in CHROMIUM_NAMES if (path := shutil.which(name))), None)


@dataclass
class Server:
    """A running JupyterLab: its address with the trailing slash, its token and the folder that it serves."""

    url: str
    token: str
    root: Path
    settings: Path

    def set_theme(self, theme: str) -> None:
        """Make `theme` ('light' or 'dark') the one that the next opened page starts with."""
        write_settings(self.settings, {"@jupyterlab/apputils-extension/themes": {"theme": THEMES[theme]}})


@dataclass
class PageErrors:
    """What went wrong in a page: uncaught exceptions and lines that it wrote to the console as errors."""

    lines: list[str] = field(default_factory=list)

    def watch(self, page) -> None:
        page.on("pageerror", lambda error: self._add(f"uncaught: {error}"))
        page.on("console", lambda message: message.type == "error" and self._add(
            f"console: {message.text} ({message.location.get('url', '')})"))

    def _add(self, line: str) -> None:
        if not HARMLESS.search(line):
            self.lines.append(line)


def write_settings(folder: Path, settings: dict[str, dict]) -> None:
    """Write user settings where JupyterLab looks for them: <plugin package>/<name>.jupyterlab-settings."""
    for plugin, values in settings.items():
        path = folder / f"{plugin}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values), encoding="utf-8")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def serve(notebooks: Path, theme: str = "light", timeout: float = 90.0) -> Iterator[Server]:
    """Run `jupyter lab` on a copy of the folder `notebooks`, with settings of its own, until the block ends.

    Nothing of the user's configuration is read or written, and no news are fetched.
    """
    with tempfile.TemporaryDirectory(prefix="jupyterlab-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        root = home / "course" / "notebooks"
        shutil.copytree(notebooks, root, ignore=shutil.ignore_patterns(".ipynb_checkpoints", "__pycache__"))
        settings = home / "settings"
        write_settings(settings, SETTINGS)
        own = {
            "JUPYTER_CONFIG_DIR": home / "config",
            "JUPYTER_DATA_DIR": home / "data",
            "JUPYTER_RUNTIME_DIR": home / "runtime",
            "JUPYTERLAB_SETTINGS_DIR": settings,
            "JUPYTERLAB_WORKSPACES_DIR": home / "workspaces",
            "IPYTHONDIR": home / "ipython",
        }
        port, token = _free_port(), secrets.token_hex(16)
        command = [
            sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root",
            "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}", "--ServerApp.port_retries=0",
            f"--ServerApp.root_dir={root}", f"--IdentityProvider.token={token}",
            "--LabApp.expose_app_in_browser=True", "--LabApp.extension_manager=readonly",
        ]
        log = home / "server.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                command, stdout=out, stderr=subprocess.STDOUT, cwd=root, start_new_session=True,
                env=os.environ | {name: str(path) for name, path in own.items()})
        try:
            server = Server(f"http://127.0.0.1:{port}/", token, root, settings)
            _wait_until_up(server, process, log, timeout)
            server.set_theme(theme)
            yield server
        finally:
            _stop(process)


def _wait_until_up(server: Server, process: subprocess.Popen, log: Path, timeout: float) -> None:
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        with contextlib.suppress(OSError):
            with urllib.request.urlopen(f"{server.url}api/status?token={server.token}", timeout=5):
                return
        time.sleep(0.2)
    raise RuntimeError(f"jupyter lab did not start:\n{log.read_text(errors='replace')[-3000:]}")


def _stop(process: subprocess.Popen) -> None:
    process.terminate()
    try:
        process.wait(timeout=15)
    except subprocess.TimeoutExpired:
        pass
    if hasattr(os, "killpg"):  # kernels that are still there
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


@contextlib.contextmanager
def browser() -> Iterator:
    """A headless Chromium, for the length of the block."""
    from playwright.sync_api import sync_playwright

    executable = find_chromium()
    if executable is None:
        raise RuntimeError("no Chromium found: install it, or name it in the environment variable CHROMIUM")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_FLAGS)
        try:
            yield chromium
        finally:
            chromium.close()


def open_notebook(page, server: Server, name: str, timeout: float = 90.0) -> None:
    """Open notebook `name` (relative to the served folder) alone in the window and wait for its kernel."""
    ms = timeout * 1000
    page.goto(f"{server.url}doc/tree/{name}?token={server.token}&reset", timeout=ms)
    page.wait_for_selector(f"{NOTEBOOK} .jp-Cell", timeout=ms)
    page.wait_for_function("() => !document.querySelector('#jupyterlab-splash')", timeout=ms)
    page.wait_for_function(READY_JS, arg=NOTEBOOK, timeout=ms)


def run_all(page, timeout: float = 120.0) -> None:
    """Clear the outputs, choose Run > Run All Cells, wait until each cell has run or one has failed."""
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
    page.wait_for_function(f"(root) => ({PROMPTS_JS})(root).every(p => p === '[ ]:')", arg=NOTEBOOK)
    page.click(".lm-MenuBar-itemLabel:text-is('Run')")
    page.click(".lm-Menu-itemLabel:text-is('Run All Cells')")
    page.wait_for_function(FINISHED_JS, arg=NOTEBOOK, polling=100, timeout=timeout * 1000)
    settle(page)


def settle(page, timeout: float = 30.0) -> None:
    """Wait until the kernel is idle and every widget that the notebook shows is there."""
    ms = timeout * 1000
    idle = ".jp-Notebook-ExecutionIndicator[data-status='idle']"
    page.wait_for_selector(idle, state="attached", timeout=ms)
    page.wait_for_function(
        "() => !/Loading widget/.test(document.querySelector('.jp-Notebook')?.textContent ?? '')", timeout=ms)
    page.wait_for_timeout(300)


def prompts(page) -> list[str]:
    """The prompt of each code cell: '[3]:' has run as the third, '[*]:' is running, '[ ]:' has not run."""
    return page.evaluate(PROMPTS_JS, NOTEBOOK)


def cell_errors(page) -> list[str]:
    """What cells wrote to stderr and every traceback, each with the number of its code cell."""
    return page.evaluate(ERRORS_JS)


def theme(page, name: str) -> None:
    """Change the theme of the open page to 'light' or 'dark'."""
    change = "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})"
    page.evaluate(change, THEMES[name])
    page.wait_for_selector(f"body[data-jp-theme-name='{THEMES[name]}']", state="attached")
    page.wait_for_timeout(300)


def screenshot(page, path: Path | str) -> Path:
    """Save what the window shows as a PNG."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(path))
    return path


def screenshots(page, folder: Path | str, stem: str, overlap: int = 60) -> list[Path]:
    """Scroll through the open notebook from top to end and save one picture per screenful."""
    scroller = page.locator(f"{NOTEBOOK}.jp-WindowedPanel, {NOTEBOOK} .jp-WindowedPanel-outer").last
    height, visible = scroller.evaluate("node => [node.scrollHeight, node.clientHeight]")
    saved, top = [], 0
    while True:
        scroller.evaluate("(node, top) => { node.scrollTop = top; }", top)
        page.wait_for_timeout(200)
        saved.append(screenshot(page, Path(folder) / f"{stem}-{len(saved) + 1:02d}.png"))
        if top + visible >= height - 2:
            return saved
        top += visible - overlap


def shots(notebook: Path, out: Path, width: int, height: int, theme_name: str, run: bool) -> int:
    """Save the pictures of one notebook, print where they are and what went wrong; 1 if anything did."""
    with serve(notebook.parent, theme_name) as server, browser() as chromium:
        page = chromium.new_page(viewport={"width": width, "height": height})
        errors = PageErrors()
        errors.watch(page)
        open_notebook(page, server, notebook.name)
        if run:
            run_all(page)
        for path in screenshots(page, out, f"{notebook.stem}-{width}-{theme_name}"):
            print(path)
        wrong = cell_errors(page) + errors.lines
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Look at a notebook in a real JupyterLab.")
    commands = parser.add_subparsers(dest="command", required=True)
    parse = commands.add_parser("shots", help="save one picture per screenful of a notebook")
    parse.add_argument("notebook", type=Path)
    parse.add_argument("--out", type=Path, required=True, help="folder for the pictures")
    parse.add_argument("--width", type=int, default=1400)
    parse.add_argument("--height", type=int, default=900)
    parse.add_argument("--theme", choices=sorted(THEMES), default="light")
    parse.add_argument("--run", action="store_true", help="Run All first; else the stored outputs are shown")
    chosen = parser.parse_args(arguments)
    return shots(chosen.notebook, chosen.out, chosen.width, chosen.height, chosen.theme, chosen.run)


if __name__ == "__main__":
    sys.exit(main())
