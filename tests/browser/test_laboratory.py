"""The laboratory as a learner uses it: orbit, zoom, reset, choose, rebuild, in a browser that has WebGL."""

import io

import nbformat
import numpy as np
import pytest
from PIL import Image

from tests.browser import jupyterlab
from tests.browser.conftest import _end_kernels

SOFTWARE_WEBGL = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]
NO_WEBGL = ["--disable-gpu", "--disable-3d-apis"]
CELLS = {
    "lab": "from specdec_lessons.labs import LaboratoryLab\nlab = LaboratoryLab(n_rounds=12)\nlab",
    "break": 'space = lab.views["space"]\ngood = space.compute\n'
             'space.compute = lambda state: {}["no"]\nlab.update()',
    "mend": "space.compute = good\nlab.update()",
    "twice": "lab",
}


def open_lab(chromium, server, flags, cells):
    """A Chromium with these flags, and in it a notebook of these cells whose first has run."""
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    made = [nbformat.v4.new_code_cell(source) for source in cells]
    nbformat.write(nbformat.v4.new_notebook(metadata=kernel, cells=made), server.root / "laboratory.ipynb")
    arguments = [flag for flag in jupyterlab.CHROMIUM_FLAGS if flag != "--disable-gpu"] + flags
    other = chromium.browser_type.launch(executable_path=jupyterlab.find_chromium(), args=arguments)
    page = other.new_page(viewport={"width": 1400, "height": 1000})
    page.errors = jupyterlab.PageErrors()
    page.errors.watch(page)
    jupyterlab.open_notebook(page, server, "laboratory.ipynb")
    run(page, 0)
    return page


def run(page, number):
    page.locator(".jp-CodeCell .cm-content").nth(number).click()
    page.keyboard.press("Control+Enter")
    page.wait_for_timeout(300)
    jupyterlab.settle(page)


@pytest.fixture(scope="module")
def opened(chromium, server):
    page = open_lab(chromium, server, SOFTWARE_WEBGL, CELLS.values())
    page.wait_for_selector(".sdl-space canvas", timeout=60000)
    yield page
    page.context.browser.close()
    _end_kernels(server)


@pytest.fixture
def page(opened):
    yield opened
    assert opened.errors.lines == []
    assert jupyterlab.cell_errors(opened) == []


def picture(page):
    """The pixels of the 3-D view, once two pictures in a row are the same."""
    canvas, last = page.locator(".sdl-space canvas").first, None
    for _ in range(40):
        page.wait_for_timeout(250)
        now = np.asarray(Image.open(io.BytesIO(canvas.screenshot())).convert("RGB")).astype(int)
        if last is not None and now.shape == last.shape and np.abs(now - last).max() < 8:
            return now
        last = now
    raise AssertionError("the picture does not come to rest")


def differ(first, second):
    """The share of pixels that differ."""
    return float((np.abs(first - second).max(axis=2) > 24).mean())


def middle(page):
    box = page.locator(".sdl-space canvas").first.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def quantity(page, name):
    return page.locator(f"[data-quantity='{name}']").first.inner_text()


def slider(page, label):
    return page.locator(f".widget-slider:has(.widget-label:text-is('{label}')) [role=slider]").first


def wait_for_change(page, selector, before):
    page.wait_for_function(
        "([selector, before]) => document.querySelector(selector).textContent !== before",
        arg=[selector, before], timeout=15000)


def test_orbit_zoom_and_reset(page):
    home = picture(page)
    assert differ(home, np.broadcast_to(home[2, 2], home.shape)) > 0.15  # blocks, not an empty frame
    x, y = middle(page)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 130, y - 40, steps=6)
    page.mouse.up()
    turned = picture(page)
    assert differ(home, turned) > 0.1
    page.mouse.wheel(0, -300)
    nearer = picture(page)
    assert differ(turned, nearer) > 0.05
    page.get_by_role("button", name="Reset view").click()
    assert differ(home, picture(page)) < 0.02
    page.get_by_role("button", name="From above").click()
    above = picture(page)
    assert differ(home, above) > 0.1
    page.get_by_role("button", name="Reset view").click()
    assert differ(home, picture(page)) < 0.02


def test_every_state_is_in_the_picture(page):
    page.get_by_role("button", name="From above").click()
    seen = picture(page).reshape(-1, 3)
    page.get_by_role("button", name="Reset view").click()
    for name, hue in (("accepted", 164), ("rejected", 26), ("correction", 202), ("bonus", 41)):
        low, high = seen.min(axis=1), seen.max(axis=1)
        vivid = seen[(high > 90) & (high - low > 0.6 * high)] / 255.0
        red, green, blue = vivid.T
        angle = np.degrees(np.arctan2(np.sqrt(3) * (green - blue), 2 * red - green - blue))
        assert (np.abs((angle - hue + 180) % 360 - 180) < 9).mean() > 0.01, name


def test_a_click_tells_token_p_q_coin_and_verdict(page):
    assert slider(page, "round").get_attribute("aria-valuetext") == "1"
    before = page.locator(".sdl-map").inner_html()
    page.mouse.click(*middle(page))
    page.wait_for_function("before => document.querySelector('.sdl-map').innerHTML !== before", arg=before)
    number = int(slider(page, "round").get_attribute("aria-valuetext"))
    position = int(slider(page, "position").get_attribute("aria-valuetext"))
    assert 3 <= number <= 10
    line = page.locator(".sdl-map li").nth(number - 1)
    assert "sdl-chosen" in line.locator("i").nth(position - 1).get_attribute("class")
    assert page.locator("[data-quantity='token']").inner_text().startswith("“")
    for name in ("p", "q", "coin", "verdict"):
        assert quantity(page, name)


def test_choosing_by_keyboard(page):
    before = page.locator(".sdl-block").text_content()
    slider(page, "round").focus()
    page.keyboard.press("End")
    wait_for_change(page, ".sdl-block", before)
    assert page.locator(".sdl-map li").nth(11).locator(".sdl-chosen").count() == 1
    assert quantity(page, "verdict")


def test_agreement_changes_the_numbers(page):
    before = page.locator(".sdl-summary").first.text_content()
    slider(page, "agreement a").focus()
    for _ in range(4):
        page.keyboard.press("PageDown")
    wait_for_change(page, ".sdl-summary", before)
    page.wait_for_timeout(1500)
    a = float(slider(page, "agreement a").get_attribute("aria-valuetext"))
    assert a < 0.8
    assert f"/ {a:.2f}" in page.locator("dd:has([data-quantity='acceptance_measured'])").first.inner_text()


def test_a_new_k_rebuilds_the_blocks(page):
    before = picture(page)
    slider(page, "proposal length k").focus()
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    page.wait_for_function(
        "() => document.querySelectorAll('.sdl-map:not(.sdl-still) li:first-child i').length === 11",
        timeout=15000)
    page.wait_for_function(
        "() => document.querySelector('.sdl-summary').textContent.startsWith('12 rounds')", timeout=30000)
    assert differ(before, picture(page)) > 0.1
    chosen = page.locator(".sdl-map").first.inner_html()
    page.mouse.click(*middle(page))  # clicks find the blocks as they are now
    page.wait_for_function("before => document.querySelector('.sdl-map').innerHTML !== before", arg=chosen)
    assert "of 120" in page.locator("dd:has([data-quantity='wasted_drafts'])").first.inner_text()


def test_rounds_unfold_by_play_and_by_hand(page):
    page.get_by_role("button", name="Back").first.click()  # by hand: what stands still goes
    page.wait_for_function("() => document.querySelectorAll('.sdl-map').length === 1")
    page.wait_for_function("() => document.querySelector('.sdl-summary').textContent.startsWith('11 rounds')")
    page.get_by_role("button", name="Step").first.click()
    page.wait_for_function("() => document.querySelector('.sdl-summary').textContent.startsWith('12 rounds')")
    whole = page.locator(".sdl-map li").count()
    page.locator("button:has-text('Play')").first.click()
    lines = "document.querySelectorAll('.sdl-map li').length"
    page.wait_for_function(f"n => {lines} < n", arg=whole, timeout=15000)
    page.wait_for_function(f"n => {lines} === n", arg=whole, timeout=60000)
    page.wait_for_timeout(1000)
    page.get_by_role("button", name="Back").first.click()
    page.wait_for_function("() => document.querySelector('.sdl-summary').textContent.startsWith('11 rounds')")
    page.get_by_role("button", name="Step").first.click()
    page.wait_for_function("() => document.querySelector('.sdl-summary').textContent.startsWith('12 rounds')")


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_the_ground_follows_the_theme(page, theme):
    jupyterlab.theme(page, theme)
    corner = picture(page)[6, 6]
    assert corner.max() < 60 if theme == "dark" else corner.min() > 235


def test_it_fits_a_narrow_window(page):
    page.set_viewport_size({"width": 1024, "height": 1000})
    page.wait_for_timeout(800)
    right = page.locator(".sdl-lab3d").first.bounding_box()
    parts = ", ".join(f".sdl-lab3d {part}" for part in (".widget-slider", "button", "canvas", ".sdl-map"))
    for part in page.locator(parts).all():
        if part.is_visible():
            box = part.bounding_box()
            assert box["x"] + box["width"] <= right["x"] + right["width"] + 1
    page.set_viewport_size({"width": 1400, "height": 1000})


def test_a_broken_view_is_one_line(page):
    run(page, 1)
    line = page.locator(".sdl-lab3d p.sdl-error")
    assert line.count() == 1 and line.inner_text().startswith("This view cannot be shown: ")
    assert line.bounding_box()["height"] < 26
    run(page, 2)
    assert line.count() == 0


def test_displayed_twice_both_follow(page):
    run(page, 3)
    page.wait_for_function("() => document.querySelectorAll('.sdl-space canvas').length === 2", timeout=30000)
    page.locator(".widget-slider:has(.widget-label:text-is('draft cost c')) [role=slider]").first.focus()
    page.keyboard.press("End")
    page.wait_for_function(
        "() => { const found = [...document.querySelectorAll('.sdl-summary')];"
        " return found.length === 2 && found.every(one => one.textContent.includes('draft cost 1.00')); }",
        timeout=15000)


def test_without_webgl_one_line_and_all_numbers(chromium, server):
    page = open_lab(chromium, server, NO_WEBGL, [CELLS["lab"]])
    page.wait_for_timeout(2000)
    assert page.locator(".sdl-nowebgl").is_visible() and page.locator(".sdl-space canvas").count() == 0
    assert page.locator(".sdl-map li").count() == 12
    before = page.locator(".sdl-summary").text_content()
    slider(page, "seed").focus()
    page.keyboard.press("ArrowRight")
    wait_for_change(page, ".sdl-summary", before)
    assert jupyterlab.cell_errors(page) == []
    page.context.browser.close()
    _end_kernels(server)
