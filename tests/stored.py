"""What the lesson tests share: the outputs of a stored notebook, found by a piece of the cell's source."""

from specdec_lessons import publish


def printed(cells, in_source):
    """What the one cell prints or shows that has this in its source."""
    found = [cell for cell in cells if in_source in cell.source]
    assert len(found) == 1, f"{len(found)} cells hold {in_source!r}"
    return "\n".join(text for output in found[0].outputs for text in publish.readable(output))
