"""The labs as a learner uses them, by mouse and by keyboard, in one opened notebook."""

import re

import pytest

from tests.browser.conftest import _end_kernels
from tests.browser.labs import open_labs

CURVES_JS = "node => [...node.querySelectorAll('.sdl-plot path')].map(path => path.getAttribute('d')).join()"


@pytest.fixture(scope="module")
def opened(chromium, server):
    found = open_labs(chromium, server)
    yield found
    found.page.context.close()
    _end_kernels(server)


@pytest.fixture
def labs(opened):
    yield opened
    opened.page.emulate_media(reduced_motion="no-preference")
    opened.nothing_went_wrong()


def quantity(lab, name):
    return lab.locator(f"[data-quantity='{name}']").first


def wait_for(labs, lab, words, timeout=15000):
    """Wait until the lab's visible text holds `words`."""
    labs.page.wait_for_function(
        "([node, words]) => node.innerText.includes(words)", arg=[lab.element_handle(), words],
        timeout=timeout,
    )


def button(lab, name):
    return lab.locator("button", has_text=re.compile(rf"^\s*{name}\s*$"))


def slider(lab, label):
    return lab.locator(f".widget-slider:has(.widget-label:text-is('{label}')) [role=slider]")


def number(lab, label):
    return lab.get_by_label(f"{label}, typed", exact=True)


def phase(lab):
    return lab.locator(".sdl-phase").inner_text()


def frame(lab):
    return int(slider(lab, "frame").get_attribute("aria-valuetext"))


def test_replay_plays_to_its_end_and_pauses_by_keyboard(labs):
    lab, press = labs["greedy"], labs.page.keyboard.press
    lab.locator("select").select_option("fast")
    slider(lab, "frame").focus()
    press("Home")
    wait_for(labs, lab, "The draft proposes")
    button(lab, "Play").focus()
    press("Space")
    wait_for(labs, lab, "Pause")
    wait_for(labs, lab, "One target pass scores")
    press("Space")
    wait_for(labs, lab, "Play")
    labs.page.wait_for_timeout(300)
    here = frame(lab)
    labs.page.wait_for_timeout(600)  # nearly three frames of the fast replay
    assert frame(lab) == here
    press("Space")
    rounds = int(re.search(r"of (\d+)\.", phase(lab)).group(1))
    wait_for(labs, lab, f"After {rounds} of {rounds} rounds", 60000)
    assert frame(lab) == int(slider(lab, "frame").get_attribute("aria-valuemax").split(".")[0])
    wait_for(labs, lab, "Play")
    assert quantity(lab, "speculative_passes").inner_text() == str(rounds)
    assert quantity(lab, "plain_passes").inner_text() == "12"
    assert "Greedy: the two texts are the same, word for word." in lab.inner_text()
    words = [
        re.findall(r"[a-z]+|[.,]", re.sub(r"after \d+ pass(es)?", "", side))
        for side in lab.locator(".sdl-text").all_inner_texts()
    ]
    assert words[0] == words[1] and len(words[0]) == 3 + 12


def test_replay_steps_and_scrubs_by_mouse(labs):
    lab = labs["sampled"]
    assert "the same distribution of texts, not the same draw" in lab.inner_text()
    start = frame(lab)
    button(lab, "Step").click()
    wait_for(labs, lab, "Round 2 of")
    assert frame(lab) == start + 1
    button(lab, "Back").click()
    wait_for(labs, lab, "Round 1 of")
    button(lab, "Back").press("Enter")
    labs.page.wait_for_function(
        "([node, n]) => Number(node.getAttribute('aria-valuetext')) === n",
        arg=[slider(lab, "frame").element_handle(), start - 1],
    )
    handle = slider(lab, "frame").bounding_box()
    track = lab.locator(".noUi-base").first.bounding_box()
    labs.page.mouse.move(handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2)
    labs.page.mouse.down()
    labs.page.mouse.move(track["x"] + track["width"] + 40, handle["y"] + 5, steps=6)
    labs.page.mouse.up()
    rounds = re.search(r"of (\d+)\.", phase(lab)).group(1)
    wait_for(labs, lab, f"After {rounds} of {rounds} rounds")


def drag(labs, lab, label, by, steps):
    """Drag a slider's handle sideways by so many pixels, and let what follows settle."""
    handle = slider(lab, label).bounding_box()
    x, y = handle["x"], handle["y"] + handle["height"] / 2
    labs.page.mouse.move(x + handle["width"] / 2, y)
    labs.page.mouse.down()
    labs.page.mouse.move(x + by, y, steps=steps)
    labs.page.mouse.up()
    labs.page.wait_for_timeout(600)


def test_a_new_k_restarts_the_replay_and_dragging_a_does_not(labs):
    lab = labs["speedup"]
    before, curves, shown = frame(lab), lab.evaluate(CURVES_JS), phase(lab)
    drag(labs, lab, "acceptance a", -40, steps=8)
    assert quantity(lab, "expected_tokens").inner_text() != "3.36"
    assert lab.evaluate(CURVES_JS) != curves
    assert (frame(lab), phase(lab)) == (before, shown)
    assert button(lab, "Play").is_visible()

    slider(lab, "draft length k").press("ArrowLeft")
    wait_for(labs, lab, "Pause")
    wait_for(labs, lab, "token 1 of 3")
    wait_for(labs, lab, "One target pass scores 4 positions")
    button(lab, "Pause").click()
    wait_for(labs, lab, "Play")


def test_another_draft_sets_a_and_restarts(labs):
    lab = labs["speedup"]
    lab.get_by_role("button", name="weak").click()
    wait_for(labs, lab, "With a = 0.40")
    wait_for(labs, lab, "drawn with a = 0.40")
    wait_for(labs, lab, "Pause")
    button(lab, "Pause").click()
    assert number(lab, "acceptance a").input_value() == "0.4"


def test_a_typed_value_out_of_range_is_explained(labs):
    lab = labs["speedup"]
    number(lab, "acceptance a").fill("1.5")
    number(lab, "acceptance a").press("Enter")
    wait_for(labs, lab, "acceptance a runs from 0 to 1: 1.5 was set to 1.")
    assert number(lab, "acceptance a").input_value() == "1"
    number(lab, "acceptance a").fill("0.5")
    number(lab, "acceptance a").press("Enter")
    wait_for(labs, lab, "With a = 0.50")
    assert "was set to" not in lab.inner_text()


def test_a_broken_view_is_one_line_under_the_lab(labs):
    lab = labs["broken"]
    slider(lab, "acceptance a").press("ArrowLeft")
    wait_for(labs, lab, "With a = 0.79")
    alert = lab.locator("[role=alert]")
    assert alert.all_inner_texts() == ["This view cannot be shown: KeyError: 'missing'"]
    assert alert.bounding_box()["height"] < 24
    assert "Traceback" not in labs.cell("broken").inner_text()


def test_a_lab_shown_twice_is_one_lab(labs):
    first, second = (labs.cell("twice").locator(".sdl").nth(i) for i in (0, 1))
    slider(first, "acceptance a").press("ArrowLeft")
    wait_for(labs, second, "With a = 0.79")
    slider(second, "acceptance a").press("ArrowLeft")
    wait_for(labs, first, "With a = 0.78")
    repeated = labs.cell("twice").evaluate(
        "cell => { const all = [...cell.querySelectorAll('[id^=sdl]')].map(node => node.id);"
        " return all.filter((id, i) => all.indexOf(id) !== i); }"
    )
    assert repeated == []


def test_the_cell_that_made_a_lab_runs_again_and_the_lab_shown_elsewhere_stays(labs):
    labs.run_again("made")
    lab = labs["shown"]
    slider(lab, "acceptance a").press("ArrowLeft")
    wait_for(labs, lab, "With a = 0.79")
    labs.run_again("shown")
    assert labs.cell("shown").locator(".sdl").count() == 1
    wait_for(labs, labs["shown"], "With a = 0.80")


def test_a_cell_that_runs_again_shows_one_fresh_lab(labs):
    labs.run_again("roofline")
    assert labs.cell("roofline").locator(".sdl").count() == 1
    slider(labs["roofline"], "positions n").press("ArrowRight")
    wait_for(labs, labs["roofline"], "over 6 positions")


def test_less_motion_shows_all_rounds_at_once_until_someone_steps(labs):
    labs.page.emulate_media(reduced_motion="reduce")
    lab = labs["speedup"]
    slider(lab, "draft length k").press("ArrowRight")
    wait_for(labs, lab, "Step through")
    wait_for(labs, lab, "round 6")
    labs.page.wait_for_timeout(400)
    seen = []
    for _ in range(3):
        seen.append((lab.inner_text(), lab.locator(".noUi-origin:visible").count()))
        labs.page.wait_for_timeout(600)
    assert seen[0] == seen[1] == seen[2]
    assert "After 6 of 6 rounds" in seen[0][0]
    for name in ("Play", "Pause", "Step", "Back"):
        assert not button(lab, name).is_visible()
    assert not slider(lab, "frame").is_visible()

    height = lab.bounding_box()["height"]
    button(lab, "Step through").click()
    wait_for(labs, lab, "token 1 of")
    assert abs(lab.bounding_box()["height"] - height) <= 2
    assert not button(lab, "Step through").is_visible()
    button(lab, "Step").click()
    wait_for(labs, lab, "token 2 of")
    slider(lab, "draft length k").press("ArrowLeft")
    wait_for(labs, lab, "Step through")
    labs.page.wait_for_timeout(700)
    button(lab, "Step through").click()
    wait_for(labs, lab, "token 1 of")
    labs.page.wait_for_timeout(700)
    assert frame(lab) == 0


def unfolded(lab):
    return int(slider(lab, "unfold").get_attribute("aria-valuetext"))


def watch_unfolding(lab):
    """From now on the page notes every number of rounds that the laboratory shows."""
    slider(lab, "unfold").evaluate("""handle => {
        window.unfolding = [];
        window.unfoldingWatch?.disconnect();
        window.unfoldingWatch = new MutationObserver(() =>
            window.unfolding.push(Number(handle.getAttribute('aria-valuetext'))));
        window.unfoldingWatch.observe(handle, {attributes: true, attributeFilter: ['aria-valuetext']});
    }""")


def test_a_new_k_or_draft_restarts_the_laboratory_and_dragging_a_does_not(labs):
    lab = labs["laboratory"]
    assert unfolded(lab) == 12 and button(lab, "Play").is_visible()
    drag(labs, lab, "agreement a", -20, steps=5)
    assert number(lab, "agreement a").input_value() != "0.8"
    assert unfolded(lab) == 12 and button(lab, "Play").is_visible()

    watch_unfolding(lab)
    slider(lab, "proposal length k").press("ArrowRight")
    labs.page.wait_for_function("window.unfolding.at(-1) === 12 && window.unfolding.length > 6", timeout=30000)
    wait_for(labs, lab, "Play")
    shown = labs.page.evaluate("window.unfolding")
    assert min(shown) <= 1 and set(range(2, 13)) <= set(shown)

    watch_unfolding(lab)
    lab.get_by_role("button", name="weak" if number(lab, "agreement a").input_value() > "0.65" else "aligned"
                    ).click()
    labs.page.wait_for_function("window.unfolding.some(rounds => rounds <= 1)", timeout=30000)
    button(lab, "Pause").click()
    wait_for(labs, lab, "Play")
    here = unfolded(lab)
    labs.page.wait_for_timeout(700)
    assert unfolded(lab) == here < 12


def test_less_motion_lets_nothing_in_the_laboratory_unfold(labs):
    lab = labs["laboratory"]
    button(lab, "Step").click()
    labs.page.emulate_media(reduced_motion="reduce")
    height = lab.bounding_box()["height"]
    slider(lab, "proposal length k").press("ArrowLeft")
    wait_for(labs, lab, "Show in 3-D")
    labs.page.wait_for_timeout(400)
    seen = []
    for _ in range(3):
        seen.append((lab.inner_text(), lab.locator(".noUi-origin:visible").count()))
        labs.page.wait_for_timeout(600)
    assert seen[0] == seen[1] == seen[2] and "6 rounds: " in seen[0][0]
    assert lab.locator(".sdl-still li").count() == 6
    assert abs(lab.bounding_box()["height"] - height) <= 2
    for name in ("Play", "Pause", "Step", "Back"):
        assert not button(lab, name).is_visible()
    assert not lab.locator(".sdl-space").is_visible()

    button(lab, "Show in 3-D").click()
    lab.locator(".sdl-space").wait_for()
    assert unfolded(lab) == 12 and not button(lab, "Show in 3-D").is_visible()
    slider(lab, "proposal length k").press("ArrowRight")
    labs.page.wait_for_timeout(800)
    assert unfolded(lab) == 12 and lab.locator(".sdl-space").is_visible()
    assert abs(lab.bounding_box()["height"] - height) <= 2


@pytest.mark.parametrize("width", [1400, 1024])
@pytest.mark.parametrize("name", ["speedup", "roofline", "bars", "sampled", "laboratory"])
def test_labs_fit_the_page_and_keep_their_height(labs, name, width):
    labs.page.set_viewport_size({"width": width, "height": 900})
    labs.page.wait_for_timeout(250)
    lab = labs[name]
    height = lab.bounding_box()["height"]
    wide = lab.evaluate(
        "node => [...node.querySelectorAll('*')].filter(part => part.getClientRects().length && "
        "!part.closest('.sdl-sr, .sdl-typed > label, svg, canvas') && "
        "part.getBoundingClientRect().right > node.getBoundingClientRect().right + 1)"
        ".map(part => part.outerHTML)"
    )
    assert wide == []
    for _ in range(4):
        lab.locator("[role=slider]:visible").first.press("ArrowRight")
        labs.page.wait_for_timeout(120)
        assert lab.bounding_box()["height"] == height
    labs.page.set_viewport_size({"width": 1400, "height": 900})
