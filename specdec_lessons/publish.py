"""Run notebooks from top to bottom and store them so that a second run changes no byte.

    python -m specdec_lessons.publish                         # every notebook of the course
    python -m specdec_lessons.publish notebooks/01_*.ipynb    # these only
    python -m specdec_lessons.publish --remeasure             # take this machine's timings anew

Tags of a cell that mean something here:

- `measured`: the output is a measurement of one machine. It is kept while the source stays the same
  (--remeasure takes it anew); the tests run the cell but do not compare what it prints (publish adds
  nbval's tag for that).
- `raises-exception`: the cell may end in a traceback.
- `allow-stderr`: the cell may write to stderr.

Needs jupyterlab (nbclient and nbformat come with it).
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
LANGUAGE_INFO = {"name": "python", "pygments_lexer": "ipython3"}
KEPT_CELL_METADATA = ("tags", "jupyter", "editable", "deletable")
IGNORE_OUTPUT = "nbval-ignore-output"
SLOW_CELL, SLOW_NOTEBOOK = 10.0, 30.0
MAX_LINES = 15

# What no stored output may show, and why.
BLEMISHES = [
    (re.compile(r"\bat 0x[0-9a-fA-F]{4,}"), "shows a memory address, which changes from run to run"),
    (re.compile(r"\bnp\.(float|int|bool|str)\w*\("), "shows a bare numpy scalar: convert it to a plain one"),
    (re.compile(r"(?<![\w/.])(/home/\w|/root/|/tmp/|/Users/\w|/usr/lib)|\b[A-Z]:\\\\?Users|site-packages"),
     "shows a path of this machine"),
    (re.compile(r"model not found", re.IGNORECASE), "shows a widget view without its model"),
]
WIDGET_REPR = re.compile(r"^[A-Z]\w*\((\)|\w+=)")
OVERWRITTEN = re.compile(r"[^\n\r]*\r(?!\n)")  # of a progress bar the last state is kept
DATA_URI = re.compile(r"data:[\w/+.-]+;base64,[A-Za-z0-9+/=\s]+")
HTML_IMAGE = re.compile(r"<img\b[^>]*>", re.IGNORECASE)
HTML_ALT = re.compile(r"""\balt\s*=\s*(?:"[^"]*[^"\s][^"]*"|'[^']*[^'\s][^']*')""", re.IGNORECASE)
MARKDOWN_IMAGE = re.compile(r"!\[([^\]]*)\]\(")
SVG = re.compile(r"<svg\b.*?</svg>", re.IGNORECASE | re.DOTALL)
SVG_NAME = re.compile(r"<title\b|aria-label|aria-hidden|role\s*=\s*[\"']presentation", re.IGNORECASE)


class PublishError(Exception):
    """A notebook could not be run, or what it gave must not be stored."""


@dataclass(frozen=True)
class Report:
    """One published notebook: its file, whether the file changed, and seconds for each code cell."""

    path: Path
    changed: bool
    seconds: list[float]


def read(path: Path) -> NotebookNode:
    """The notebook at `path`, in nbformat 4.5; cells without an id get one from their place."""
    notebook = nbformat.v4.reads(path.read_text(encoding="utf-8"))
    if notebook.nbformat != 4:
        raise PublishError(f"{path} must be in notebook format 4, got {notebook.nbformat}")
    notebook.nbformat_minor = 5
    taken = {cell.get("id") for cell in notebook.cells}
    for index, cell in enumerate(notebook.cells):
        if not cell.get("id"):
            cell.id = next(name for n in range(len(taken) + 1)
                           if (name := f"cell-{index + 1:02d}" + f"-{n}" * bool(n)) not in taken)
            taken.add(cell.id)
    return notebook


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """The cells that hold code, in order."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def tags(cell: NotebookNode) -> list[str]:
    """The tags of a cell."""
    return list(cell.metadata.get("tags", []))


def execute(notebook: NotebookNode, folder: Path, timeout: float = 300.0, times: int = 1) -> list[float]:
    """Run all code cells `times` times over in one fresh kernel started in `folder`; keep the last outputs.

    Returns the seconds of each code cell in that last run. Raises PublishError where a cell fails.
    """
    client = NotebookClient(
        notebook, kernel_name="python3", timeout=timeout, resources={"metadata": {"path": str(folder)}},
        store_widget_state=False, record_timing=False, extra_arguments=["--log-level=ERROR"])
    seconds: list[float] = []
    with client.setup_kernel():
        for _ in range(times):
            seconds, number = [], 0
            for index, cell in enumerate(notebook.cells):
                if cell.cell_type != "code":
                    continue
                number += 1
                start = time.perf_counter()
                try:
                    client.execute_cell(cell, index)
                except CellExecutionError as error:
                    raise PublishError(f"code cell {number} raised:\n{error}") from None
                except (CellTimeoutError, DeadKernelError) as error:
                    raise PublishError(f"code cell {number}: {error}") from None
                seconds.append(time.perf_counter() - start)
    return seconds


def clean_outputs(outputs: list[NotebookNode], execution_count: int | None) -> list[NotebookNode]:
    """Outputs as they are stored: no live widget views, consecutive lines of one stream in one piece."""
    kept: list[NotebookNode] = []
    for output in outputs:
        output = nbformat.from_dict(dict(output))
        if output.output_type in ("display_data", "execute_result"):
            output.data.pop(WIDGET_VIEW, None)
            output.metadata.pop(WIDGET_VIEW, None)
            output.pop("transient", None)
            if not output.data:
                continue
            if output.output_type == "execute_result":
                output.execution_count = execution_count
        if output.output_type == "stream":
            if kept and kept[-1].output_type == "stream" and kept[-1].name == output.name:
                kept[-1].text += output.text
                continue
            if not output.text:
                continue
        kept.append(output)
    for output in kept:
        if output.output_type == "stream":
            output.text = OVERWRITTEN.sub("", output.text)
    return kept


def source_mark(source: str) -> str:
    """A short fingerprint of a cell's source, stored beside a measurement of it."""
    return hashlib.sha256(source.encode()).hexdigest()[:12]


def clean(notebook: NotebookNode) -> None:
    """Bring a notebook that has just run into its stored form, in place."""
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNELSPEC, "language_info": LANGUAGE_INFO})
    count = 0
    for cell in notebook.cells:
        names = tags(cell)
        if "measured" in names and IGNORE_OUTPUT not in names:
            names.append(IGNORE_OUTPUT)
        metadata = {key: cell.metadata[key] for key in KEPT_CELL_METADATA if key in cell.metadata}
        metadata.pop("tags", None)
        if isinstance(metadata.get("jupyter"), dict):
            metadata["jupyter"] = {"source_hidden": True} if metadata["jupyter"].get("source_hidden") else {}
            if not metadata["jupyter"]:
                del metadata["jupyter"]
        if names:
            metadata["tags"] = sorted(set(names))
        if "measured" in names:
            metadata["measured_source"] = source_mark(cell.source)
        cell.metadata = nbformat.from_dict(metadata)
        if cell.cell_type == "code":
            count += 1
            cell.execution_count = count
            cell.outputs = clean_outputs(cell.outputs, count)
        elif not cell.get("attachments", True):
            del cell["attachments"]


def readable(output: NotebookNode) -> list[str]:
    """Every readable text of an output, without the bytes of its images."""
    if output.output_type == "stream":
        return [output.text]
    if output.output_type == "error":
        return [f"{output.ename}: {output.evalue}"]
    return [DATA_URI.sub("", text) for mime, text in sorted(output.data.items())
            if isinstance(text, str) and not mime.startswith("image/")]


def _nameless_images(text: str, markdown: bool = False) -> int:
    """How many images of an HTML or markdown text have no alternative text."""
    if markdown:
        text = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    missing = sum(not HTML_ALT.search(image) for image in HTML_IMAGE.findall(text))
    missing += sum(not SVG_NAME.search(image) for image in SVG.findall(text))
    if markdown:
        missing += sum(not alt.strip() for alt in MARKDOWN_IMAGE.findall(text))
    return missing


def _output_problems(output: NotebookNode, names: list[str]) -> list[str]:
    if output.output_type == "error" and "raises-exception" not in names:
        return [f"stores a traceback: {output.ename}"]
    if output.output_type == "stream" and output.name == "stderr" and "allow-stderr" not in names:
        return [f"writes to stderr: {output.text.strip()[:300]}"]
    found = [f"{why}: …{match.group(0)}…" for text in readable(output) for pattern, why in BLEMISHES
             if (match := pattern.search(text))]
    if output.output_type not in ("display_data", "execute_result"):
        return found
    data = output.data
    if WIDGET_VIEW in data:
        found.append("stores a widget view, which means nothing without its kernel")
    html = data.get("text/html", "")
    if _nameless_images(html):
        found.append("shows an image without alternative text")
    if any(mime.startswith("image/") for mime in data) and not HTML_ALT.search(html):
        found.append("shows an image without alternative text (give it as text/html with <img alt=…>)")
    if set(data) == {"text/plain"} and WIDGET_REPR.match(data["text/plain"]) and "measured" not in names:
        found.append(f"shows a widget that has no static twin: {data['text/plain'][:60]}")
    return found


def problems(notebook: NotebookNode) -> list[str]:
    """What is wrong with the stored form of a notebook, one line each, [] where nothing is.

    >>> from nbformat.v4 import new_code_cell, new_notebook
    >>> notebook = new_notebook(cells=[new_code_cell("1", id="one")])
    >>> problems(notebook)
    ['kernelspec must be python3, got None', 'cell 1 (code cell 1): execution count must be 1, got None']
    >>> clean(notebook)
    >>> problems(notebook)
    []
    """
    found = []
    kernel = notebook.metadata.get("kernelspec", {}).get("name")
    if kernel != "python3":
        found.append(f"kernelspec must be python3, got {kernel!r}")
    found += [f"metadata.{key} must not be stored" for key in notebook.metadata
              if key not in ("kernelspec", "language_info")]
    if extra := set(notebook.metadata.get("language_info", {})) - set(LANGUAGE_INFO):
        found.append(f"metadata.language_info must not hold {', '.join(sorted(extra))}")
    number = 0
    for index, cell in enumerate(notebook.cells, start=1):
        where = f"cell {index} ({cell.cell_type})"
        names = tags(cell)
        found += [f"{where}: metadata.{key} must not be stored" for key in cell.metadata
                  if key not in (*KEPT_CELL_METADATA, "measured_source")]
        if cell.cell_type == "markdown" and _nameless_images(cell.source, markdown=True):
            found.append(f"{where}: shows an image without alternative text")
        if cell.cell_type != "code":
            continue
        number += 1
        where = f"cell {index} (code cell {number})"
        if not cell.source.strip():
            found.append(f"{where}: is empty")
        if (lines := len(cell.source.splitlines())) > MAX_LINES:
            found.append(f"{where}: has {lines} lines, at most {MAX_LINES} are allowed")
        if cell.execution_count != number:
            found.append(f"{where}: execution count must be {number}, got {cell.execution_count}")
        if "measured" in names and IGNORE_OUTPUT not in names:
            found.append(f"{where}: is tagged measured but not {IGNORE_OUTPUT}")
        if "measured" in names and cell.metadata.get("measured_source") != source_mark(cell.source):
            found.append(f"{where}: its measured output comes from another source: publish again")
        for output in cell.outputs:
            found += [f"{where}: {line}" for line in _output_problems(output, names)]
    try:
        nbformat.validate(notebook)
    except nbformat.ValidationError as error:
        found.append(f"not a valid notebook: {str(error).splitlines()[0]}")
    return found


def measured_outputs(notebook: NotebookNode) -> dict[str, list[NotebookNode]]:
    """Stored outputs of the cells tagged `measured` whose source is the one that was measured, by cell id."""
    return {cell.id: cell.outputs for cell in code_cells(notebook)
            if "measured" in tags(cell) and cell.outputs
            and cell.metadata.get("measured_source") == source_mark(cell.source)}


def publish(path: Path | str, remeasure: bool = False, timeout: float = 300.0) -> Report:
    """Run the notebook at `path` in a fresh kernel and store it; where anything is wrong, leave the file alone.

    Raises PublishError with what went wrong.
    """
    path = Path(path)
    notebook = read(path)
    kept = {} if remeasure else measured_outputs(notebook)
    seconds = execute(notebook, path.parent.resolve(), timeout)
    for cell in code_cells(notebook):
        if cell.id in kept:
            cell.outputs = kept[cell.id]
    clean(notebook)
    if wrong := problems(notebook):
        raise PublishError("\n".join(wrong))
    text = nbformat.writes(notebook).rstrip("\n") + "\n"
    changed = text != path.read_text(encoding="utf-8")
    if changed:
        path.write_text(text, encoding="utf-8", newline="\n")
    return Report(path, changed, seconds)


def describe(report: Report) -> str:
    """A report in words: seconds in all, the slowest cells, and a warning for what is too slow."""
    total = sum(report.seconds)
    lines = [f"{report.path}: {'stored' if report.changed else 'unchanged'}, "
             f"{len(report.seconds)} code cells, {total:.1f} s"]
    lines += [f"    code cell {number}: {s:.1f} s"
              for number, s in enumerate(report.seconds, start=1) if s >= 0.5]
    lines += [f"    warning: code cell {number} took {s:.1f} s, more than {SLOW_CELL:.0f} s"
              for number, s in enumerate(report.seconds, start=1) if s > SLOW_CELL]
    if total > SLOW_NOTEBOOK:
        lines.append(f"    warning: the notebook took {total:.1f} s, more than {SLOW_NOTEBOOK:.0f} s")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """The command line: publish the named notebooks, or all; 1 where one of them could not be stored."""
    parser = argparse.ArgumentParser(
        prog="python -m specdec_lessons.publish", description="Run notebooks and store them.")
    parser.add_argument("notebooks", nargs="*", type=Path, metavar="NOTEBOOK", help="default: every lesson")
    parser.add_argument("--remeasure", action="store_true", help="replace the outputs of measured cells")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds a cell may take (default 300)")
    chosen = parser.parse_args(arguments)
    notebooks = chosen.notebooks or sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
    if not notebooks:
        parser.error("no notebooks found: name them")
    failed = 0
    for path in notebooks:
        try:
            print(describe(publish(path, chosen.remeasure, chosen.timeout)), flush=True)
        except (PublishError, OSError) as error:
            failed += 1
            print(f"{path}: NOT stored\n{error}", file=sys.stderr, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
