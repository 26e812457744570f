"""The notebook that the browser tests of the labs drive: one cell a lab, found by name."""

import nbformat

from tests.browser import jupyterlab

IMPORTS = """\
import numpy as np
from specdec_lessons import decoding, models
from specdec_lessons.labs import (
    BarsLab, CounterReaderLab, LaboratoryLab, LoadLab, PolicyRaceLab, ReplayLab, RooflineLab, SpeedupLab)
target = models.story_model()
prompt = models.encode(target, "the old woman")
def run(temperature, seed=3):
    draft = models.AgreeingDraft(target, 0.7)
    return decoding.speculative_decode(
        target, draft, prompt, 12, 3, np.random.default_rng(seed), temperature=temperature)"""
BROKEN = """\
broken = SpeedupLab(with_replay=False)
broken.views["speedup_by_length"].compute = lambda state: {}["missing"]
broken"""
CELLS = {
    "imports": IMPORTS,
    "speedup": "SpeedupLab()",
    "roofline": "RooflineLab()",
    "bars": "BarsLab()",
    "sampled": "ReplayLab(run(1.0), target.vocabulary, prompt)",
    "greedy": "ReplayLab(run(0), target.vocabulary, prompt)",
    "broken": BROKEN,
    "twice": "twice = SpeedupLab(with_replay=False)\ndisplay(twice)\ntwice",
    "made": "made = SpeedupLab(with_replay=False)",
    "shown": "made",
    "load": "LoadLab(batch=64)",
    "counters": "CounterReaderLab()",
    "laboratory": "LaboratoryLab(n_rounds=6)",
    "policies": "PolicyRaceLab()",
}


class Labs:
    """The opened notebook: ``labs[name]`` is where a lab is shown (the first place, if there are more)."""

    def __init__(self, page):
        self.page = page

    def cell(self, name):
        return self.page.locator(".jp-CodeCell").nth(list(CELLS).index(name))

    def __getitem__(self, name):
        found = self.cell(name).locator(".sdl").first
        found.scroll_into_view_if_needed()
        return found

    def run_again(self, name):
        """Run one cell once more, from the keyboard."""
        cell = self.cell(name)
        before = cell.locator(".jp-InputPrompt").first.inner_text()
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Control+Enter")
        self.page.wait_for_function(
            "([cell, before]) => { const now = cell.querySelector('.jp-InputPrompt').textContent.trim();"
            " return now !== before && /\\d/.test(now); }",
            arg=[cell.element_handle(), before.strip()],
        )
        jupyterlab.settle(self.page)

    def nothing_went_wrong(self):
        assert jupyterlab.cell_errors(self.page) == []
        assert self.page.errors.lines == []


def open_labs(chromium, server, name="labs.ipynb"):
    """Write the notebook, open it in a page of 1400 × 900 pixels, run it."""
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS.values()]
    nbformat.write(nbformat.v4.new_notebook(metadata=kernel, cells=cells), server.root / name)
    context = chromium.new_context(viewport={"width": 1400, "height": 900}, reduced_motion="no-preference")
    page = context.new_page()
    page.errors = jupyterlab.PageErrors()
    page.errors.watch(page)
    jupyterlab.open_notebook(page, server, name)
    jupyterlab.run_all(page)
    return Labs(page)
