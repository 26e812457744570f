"""The start page's check: what it says when all is well, when a package is old, and when one is missing."""

from specdec_lessons import setup_check
from specdec_lessons.setup_check import check_setup, where_am_i


def test_this_machine_has_what_the_course_needs():
    findings = check_setup()
    assert findings.ok, findings
    assert repr(findings).endswith("All set.")


def test_an_old_package_an_old_python_and_a_missing_package_are_each_named():
    findings = check_setup(needed={"numpy": "999", "no-such-package": "1"}, python=(3, 9, 0))
    assert not findings.ok
    assert [line.ok for line in findings] == [False, False, False]
    text = repr(findings)
    assert "Python 3.9" in text and "no-such-package is not installed" in text and "999 or newer" in text
    assert "pip install -r requirements.txt" in text


def test_binder_is_told_apart(monkeypatch):
    for name in [name for name in setup_check.os.environ if name.startswith("BINDER_")]:
        monkeypatch.delenv(name)
    assert "our own computer" in where_am_i()
    monkeypatch.setenv("BINDER_SERVICE_HOST", "x")
    assert "lost when the session ends" in where_am_i()
