"""Lesson 8 as a learner uses it: Run All, a batch moved by the keyboard, a log pasted, an unreadable one."""

import pytest

from tests.browser import jupyterlab

SHOWS_JS = (
    "([node, name, text]) => node.querySelector(`[data-quantity='${name}']`)?.textContent.trim() === text"
)


def shows(page, lab, name, text):
    page.wait_for_function(SHOWS_JS, arg=[lab.element_handle(), name, text])


@pytest.fixture
def lesson(page, server):
    jupyterlab.open_notebook(page, server, "08_when_speculation_pays.ipynb")
    jupyterlab.run_all(page)
    yield page
    assert jupyterlab.cell_errors(page) == []
    assert page.errors.lines == []


def test_a_full_machine_makes_it_slower(lesson):
    lab = lesson.locator(".sdl:has([data-quantity='last_batch'])").first
    lab.scroll_into_view_if_needed()
    shows(lesson, lab, "best_draft_length", "2")
    batch = lab.get_by_role("spinbutton", name="batch, typed", exact=True)
    batch.fill("192")
    batch.press("Enter")
    shows(lesson, lab, "best_draft_length", "0")
    assert float(lab.locator("[data-quantity='speedup']").first.inner_text()) < 1
    assert "switch speculation off" in lab.locator(".sdl-summary").first.inner_text()


def test_a_pasted_log_is_read_and_an_unreadable_one_stays(lesson):
    lab = lesson.locator(".sdl:has([data-quantity='decision'])").first
    lab.scroll_into_view_if_needed()
    shows(lesson, lab, "decision", "set k = 3")
    box = lab.locator("textarea")
    box.fill("n_draft = 5  n_predict = 261  n_drafted = 260  n_accept = 208")
    box.blur()
    shows(lesson, lab, "tokens_per_pass", "5.00")
    shows(lesson, lab, "a", "0.927")
    box.fill("no counter at all")
    box.blur()
    shows(lesson, lab, "tokens_per_pass", "–")
    assert "Not read: text must hold" in lab.locator("[role=alert]").first.inner_text()
    assert box.input_value() == "no counter at all"
