"""Lesson 3 as a learner uses it: Run All, then a slider moved by the keyboard."""

import pytest

from tests.browser import jupyterlab

LAB = (".jp-OutputArea-output:has([data-quantity='expected_tokens'])"
       ":has([data-quantity='speedup']):has(.sdl-plot):has(.widget-slider)")
CURVES_JS = "node => [...node.querySelectorAll('.sdl-plot path')].map(path => path.getAttribute('d') ?? '')"


def quantity(lab, name):
    """The number that the readout `name` shows."""
    return float(lab.locator(f"[data-quantity='{name}']").first.inner_text().strip().rstrip("×"))


def geometric_sum(a, k):
    """1 + a + a² + … + a^k, term by term."""
    return sum(a**i for i in range(k + 1))


@pytest.fixture
def lab(page, server):
    jupyterlab.open_notebook(page, server, "03_expected_tokens.ipynb")
    jupyterlab.run_all(page)
    found = page.locator(LAB).first
    found.scroll_into_view_if_needed()
    return found


def test_slider_by_keyboard_changes_readout_and_curve(page, lab):
    handle = lab.locator(".widget-slider [role=slider]").first
    a = float(handle.get_attribute("aria-valuetext"))
    expected, faster, curves = (
        quantity(lab, "expected_tokens"), quantity(lab, "speedup"), lab.evaluate(CURVES_JS))
    shown = lab.locator("[data-quantity='expected_tokens']").first.text_content()
    assert a == pytest.approx(0.8)
    assert expected == pytest.approx(3.3616, abs=0.0051)
    assert faster == pytest.approx(3.3616 / 1.4, abs=0.0051)

    handle.focus()
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
    page.wait_for_function(
        "([node, before]) => node.querySelector('[data-quantity=expected_tokens]').textContent !== before",
        arg=[lab.element_handle(), shown])
    page.wait_for_timeout(500)

    a = float(handle.get_attribute("aria-valuetext"))
    assert a < 0.79
    assert quantity(lab, "expected_tokens") == pytest.approx(geometric_sum(a, 4), abs=0.0051)
    assert quantity(lab, "speedup") == pytest.approx(geometric_sum(a, 4) / 1.4, abs=0.0051)
    assert lab.evaluate(CURVES_JS) != curves
    assert jupyterlab.cell_errors(page) == []
    assert page.errors.lines == []
