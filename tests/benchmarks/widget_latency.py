"""How fast the labs follow the hand, measured in the page of a real JupyterLab.

    python -m tests.benchmarks.widget_latency

steps a slider of each lab 60 times by key, waits each time for the changed readout and the changed picture,
and prints the median and the 95th percentile in milliseconds; the same for one bare slider that sets one
HTML widget (what no lab can be faster than), for ``interact`` with matplotlib drawing the curves of the
speedup lab, and for the end of a burst of 200 keys. The machine's load is printed beside them: on a busy one
the figures say more about the load. Last, 2,000 slider events are sent to a kernel with each lab, and the
memory that it holds more than before is printed (Linux only).

Two moments of each change are measured. *Changed* is when the page's document has it: a MutationObserver
notes the time at the end of the task that changed it, to a fraction of a millisecond. Looking from
``requestAnimationFrame`` would not do: that looks every 16.7 ms, and sees what another such callback draws a
frame after it was painted. *Painted* is the end of the first frame that shows it: a message posted in a
frame's callback is delivered once the frame's style, layout and paint are done. The picture of the speedup lab has changed when a curve has (its points, which move too, do not
count), that of the roofline lab when the point of the pass has moved, along curves that stay.
"""

import json
import os
import tempfile
from pathlib import Path
from statistics import median, quantiles

import nbformat
from jupyter_client.manager import run_kernel

from tests.browser import jupyterlab

STEPS = 60
BURST = 200
EVENTS = 2000
WARM_UP = 1000  # events until the allocator has what it needs
INTERACT = """\
import numpy as np, matplotlib.pyplot as plt
from ipywidgets import interact
from specdec_lessons import formulas
def draw(a=0.8, k=4, c=0.1):
    grid, lengths = np.linspace(0, 1, 101), np.arange(17)
    speedups, best = formulas.speedup(a, lengths, c), formulas.best_draft_length(a, c, k_max=16)
    fig, (left, right) = plt.subplots(1, 2, figsize=(9.4, 3.6))
    left.plot(grid, formulas.expected_tokens(grid, k)); left.plot(a, formulas.expected_tokens(a, k), "o")
    left.plot(grid[:-1], 1 / (1 - grid[:-1]), "--"); left.set_ylim(0, 1.1 * (k + 1))
    right.plot(lengths, speedups, "o-"); right.plot(k, speedups[k], "o")
    right.plot(best, speedups[best], "D"); right.plot((0, 16), (1, 1), "--")
    plt.show()
    print(round(formulas.expected_tokens(a, k), 3))
interact(draw, a=(0.0, 1.0, 0.01), k=(0, 16), c=(0.0, 1.0, 0.01));"""
BARE = """\
import ipywidgets
bare, said = ipywidgets.FloatSlider(value=0.5, min=0, max=1, step=0.01), ipywidgets.HTML()
def say(change=None):
    said.value = f'<b class="bare" style="margin-left: {bare.value:.2f}px">{bare.value:.2f}</b>'
bare.observe(say, "value")
say()
ipywidgets.VBox([bare, said])"""
CASES = (  # name, cell, which slider, readout, picture
    ("one bare slider", BARE, 0, ".bare", ".bare"),
    ("speedup lab", "SpeedupLab()", 0, "[data-quantity=expected_tokens]", ".sdl-plot path.sdl-line"),
    ("roofline lab", "RooflineLab()", 0, "[data-quantity=intensity]", ".sdl-plot .sdl-point"),
    ("bars lab", "BarsLab()", 1, "[data-quantity=acceptance_probability]", ".sdl-part"),
    ("interact + matplotlib", INTERACT, 0, ".jp-OutputArea-output pre", ".jp-OutputArea-output img"),
)

# Presses an arrow key on the focused slider `steps` times; resolves to, for each step, the ms until readout
# and picture have changed, then until both are painted.
STEP_JS = """async ([cell, readout, picture, steps]) => {
    const press = right => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {
        key: right ? 'ArrowRight' : 'ArrowLeft', keyCode: right ? 39 : 37, bubbles: true, cancelable: true}));
    const parts = ['d', 'transform', 'style', 'src'];
    const words = () => cell.querySelector(readout)?.textContent;
    const looks = () => [...cell.querySelectorAll(picture)].map(
        node => parts.map(name => node.getAttribute(name)).join()).join();
    const framed = new MessageChannel(), times = [];
    for (let i = 0; i < steps; i++) {
        const before = [words(), looks()], changed = [null, null], painted = [null, null];
        const start = performance.now();
        const watch = new MutationObserver(() => {
            const now = [words(), looks()], time = performance.now() - start;
            for (const j of [0, 1])
                if (changed[j] === null && now[j] && now[j] !== before[j]) changed[j] = time;
        });
        watch.observe(cell, {subtree: true, childList: true, characterData: true, attributeFilter: parts});
        press(i % 20 < 10);
        await new Promise(done => {
            framed.port1.onmessage = () => {
                for (const j of [0, 1])
                    if (painted[j] === null && changed[j] !== null) painted[j] = performance.now() - start;
                if (!painted.includes(null) || performance.now() - start > 3000) done();
                else requestAnimationFrame(() => framed.port2.postMessage(0));
            };
            requestAnimationFrame(() => framed.port2.postMessage(0));
        });
        watch.disconnect();
        times.push([...changed, ...painted]);
        await new Promise(done => setTimeout(done, 80));
    }
    return times;
}"""

# A burst of keys to the left, one every 2 ms; resolves to the ms after the last until the readout stays.
BURST_JS = """async ([cell, readout, n]) => {
    const handle = document.activeElement, words = () => cell.querySelector(readout).textContent;
    for (let i = 0; i < n; i++) {
        handle.dispatchEvent(new KeyboardEvent('keydown', {
            key: i % 40 < 25 ? 'ArrowLeft' : 'ArrowRight', keyCode: i % 40 < 25 ? 37 : 39, bubbles: true}));
        await new Promise(done => setTimeout(done, 2));
    }
    const end = performance.now();
    let last = words(), changed = end;
    while (performance.now() - end < 2500) {
        await new Promise(requestAnimationFrame);
        if (words() !== last) { last = words(); changed = performance.now(); }
    }
    return changed - end;
}"""


def write_notebook(path):
    """One cell for the import, then one cell for each case."""
    notebook = nbformat.v4.new_notebook(
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    )
    cells = [
        "from specdec_lessons.labs import BarsLab, RooflineLab, SpeedupLab",
        *(case[1] for case in CASES),
    ]
    notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
    nbformat.write(notebook, path)


def line(name, times):
    """Median and 95th percentile of some milliseconds, as a line of text."""
    seen = [time for time in times if time is not None]
    if len(seen) < 2:
        return f"  {name:15} did not happen"
    return f"  {name:15} median {median(seen):5.1f}   95th {quantiles(seen, n=20)[-1]:5.1f}   of {len(seen)}"


PREPARE = """\
import gc, json, os
from specdec_lessons.labs import *
lab = {lab}
def held():
    gc.collect()
    import matplotlib.pyplot as plt, ipywidgets
    pages = int(open("/proc/self/statm").read().split()[1])
    alive = len(ipywidgets.widgets.widget._instances)
    return [pages * os.sysconf("SC_PAGE_SIZE") / 2**20, alive, len(plt.get_fignums())]"""


def ask(client, code):
    """Run code in a kernel; what its expression `answer` holds afterwards."""
    wanted = {"answer": "answer"}
    reply = client.execute_interactive(code, user_expressions=wanted, timeout=120, output_hook=id)
    if reply["content"]["status"] != "ok":
        raise RuntimeError(reply["content"])
    return json.loads(reply["content"]["user_expressions"]["answer"]["data"]["text/plain"].strip("'"))


def slide(client, model, values):
    """Send a slider's values as the page does, each after the kernel has dealt with the one before."""
    for value in values:
        data = {"method": "update", "state": {"value": value}, "buffer_paths": []}
        message = client.session.msg("comm_msg", {"comm_id": model, "data": data})
        client.shell_channel.send(message)
        while True:
            heard = client.get_iopub_msg(timeout=30)
            if (heard["parent_header"].get("msg_id") == message["header"]["msg_id"]
                    and heard["content"].get("execution_state") == "idle"):
                break


def memory(lab, slider, low, high):
    """(MB, widgets, open figures) that a kernel holds more after EVENTS slider events than before."""
    with run_kernel(kernel_name="python3") as client:
        model = ask(client, PREPARE.format(lab=lab) + f"\nanswer = json.dumps({slider}.source.model_id)")
        values = [low + (high - low) * (i % 101) / 100 for i in range(WARM_UP + EVENTS)]
        values = [round(value) if isinstance(high, int) else value for value in values]
        slide(client, model, values[:WARM_UP])
        before = ask(client, "answer = json.dumps(held())")
        slide(client, model, values[WARM_UP:])
        after = ask(client, "answer = json.dumps(held())")
    return [now - then for now, then in zip(after, before)]


def main():
    """Start JupyterLab and Chromium, measure every case, print."""
    medians = {}
    with tempfile.TemporaryDirectory() as folder:
        write_notebook(Path(folder) / "latency.ipynb")
        with jupyterlab.serve(Path(folder)) as server, jupyterlab.browser() as chromium:
            page = chromium.new_page(viewport={"width": 1400, "height": 1000})
            jupyterlab.open_notebook(page, server, "latency.ipynb")
            jupyterlab.run_all(page)
            for i, (name, _, slider, readout, picture) in enumerate(CASES, start=1):
                cell = page.locator(".jp-CodeCell").nth(i)
                cell.scroll_into_view_if_needed()
                cell.locator("[role=slider]").nth(slider).focus()
                times = page.evaluate(STEP_JS, [cell.element_handle(), readout, picture, STEPS])
                print(f"{name} (load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores), ms from key press")
                columns = list(zip(*times))
                for what, column in zip(("readout changed", "picture changed", "readout painted",
                                         "picture painted"), columns):
                    print(line(what, column))
                for what, pairs in (("changed", zip(*columns[:2])), ("painted", zip(*columns[2:]))):
                    both = [max(pair) for pair in pairs if None not in pair]
                    medians[name, what] = median(both) if both else float("nan")
                    print(line(f"both {what}", both))
                if name == "speedup lab":
                    late = page.evaluate(BURST_JS, [cell.element_handle(), readout, BURST])
                    print(f"  {'burst':15} last change {late:.0f} ms after the last of {BURST} keys")
    for what in ("changed", "painted"):
        ratio = medians["interact + matplotlib", what] / medians["speedup lab", what]
        print(f"interact takes {ratio:.1f} times as long as the speedup lab (readout and picture {what}, medians)")
    for lab, slider, low, high in (
        ("SpeedupLab()", "lab.a", 0.0, 1.0),
        ("RooflineLab()", "lab.positions", 1, 512),
        ("BarsLab()", "lab.weights[0]", 1.0, 100.0),
        ("LaboratoryLab()", "lab.a", 0.0, 1.0),
        ("LaboratoryLab()", "lab.k", 1, 16),
    ):
        grown, more_widgets, figures = memory(lab, slider, low, high)
        print(f"{lab}, {slider}, after {EVENTS} events: {grown:+.1f} MB, {more_widgets:+d} widgets, "
              f"{figures:+d} open figures")


if __name__ == "__main__":
    main()
