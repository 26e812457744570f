"""What a newcomer meets first: the import, the README, the requirements, what Binder builds."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
START = ("python3 -m venv .venv && .venv/bin/pip install -r requirements.txt "
         "&& .venv/bin/jupyter lab notebooks/00_start_here.ipynb")


def pins(path):
    """{package: version} of the lines name==version of a requirements file."""
    lines = (re.split("[#;]", line)[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return {re.sub(r"[-_.]+", "-", name).lower(): version
            for line in lines if "==" in line for name, version in [line.split("==")]}


def wrong_pins(direct, lock):
    """The direct requirements that the lock lacks or holds in another version."""
    return {name: (version, lock.get(name)) for name, version in direct.items() if lock.get(name) != version}


def bash_lines():
    blocks = re.findall(r"```bash\n(.*?)```", README, re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


def test_import_from_any_folder(tmp_path):
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", "import specdec_lessons.formulas as f; print(f.expected_tokens(0.5, 1))"],
        cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.stdout == "1.5\n", done.stderr


def test_readme_has_two_lines_each_complete():
    assert len(bash_lines()) == 2
    start, test = bash_lines()
    assert start == START
    assert test.startswith("python3 -m venv .venv && ") and test.endswith(" && .venv/bin/pytest")
    for requirements in re.findall(r"-r (\S+)", start + test):
        assert (ROOT / requirements).is_file()


def test_files_that_the_readme_names_exist():
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    assert "LICENSE" in targets
    missing = [target for target in targets if "://" not in target and not (ROOT / target).exists()]
    assert missing == []


def test_course_map_names_every_notebook():
    mapped = set(re.findall(r"\]\(notebooks/(\w+)\.ipynb\)", README))
    assert mapped == {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}


def test_direct_requirements_are_exact_and_have_a_reason():
    form = re.compile(r"""([\w-]+==[\w.]+; python_version >= "3.11"|-e \.|-r \S+) +# \S.*""")
    for name in ("requirements.txt", "tests/requirements.txt", "notebooks/homework/requirements.txt"):
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
            assert not line or line.startswith("#") or form.fullmatch(line), line


def test_lock_agrees_with_the_direct_requirements():
    lock = pins(ROOT / "binder/requirements.txt")
    assert wrong_pins(pins(ROOT / "requirements.txt"), lock) == {}
    assert len(lock) > 60


def test_control_lock_that_disagrees_is_found():
    direct = {"numpy": "2.0", "scipy": "1.0", "pillow": "11"}
    assert wrong_pins(direct, {"numpy": "2.0", "scipy": "1.1"}) == {
        "scipy": ("1.0", "1.1"), "pillow": ("11", None)}


def test_lock_holds_all_that_the_package_needs():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lock = pins(ROOT / "binder/requirements.txt")
    needed = project["project"]["dependencies"] + project["build-system"]["requires"]
    assert {re.match(r"[\w-]+", line).group() for line in needed} <= set(lock)
    assert set(re.match(r"[\w-]+", line).group() for line in project["project"]["dependencies"]) <= set(
        pins(ROOT / "requirements.txt"))


def test_binder_has_what_repo2docker_needs():
    assert re.fullmatch(r"python-3\.1[12]\n", (ROOT / "binder/runtime.txt").read_text())
    build = ROOT / "binder/postBuild"
    assert build.read_text().startswith("#!/bin/bash\n")
    assert "pip install --no-deps --no-build-isolation ." in build.read_text()
    if os.name == "posix":
        assert os.access(build, os.X_OK)


@pytest.mark.parametrize("name", ["requirements.txt", "tests/requirements.txt", "binder/requirements.txt",
                                  "binder/postBuild", "pyproject.toml"])
def test_nothing_is_fetched_from_elsewhere(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert not re.search(r"https?://|file:|--(extra-)?index-url|--find-links|@ |git\+", text)


def test_the_whole_package_is_installed_and_what_is_shared_exists():
    # that nothing is missing where it is installed by copying, .ci/run compares file by file
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert set(wheel) == {"packages", "shared-data"} and wheel["packages"] == ["specdec_lessons"]
    assert [source for source in wheel["shared-data"] if not (ROOT / source).is_file()] == []
