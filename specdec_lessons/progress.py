"""A progress bar for a cell that takes seconds: it goes around a list and bears an interrupt."""

from html import escape

from IPython.display import HTML, display


def bar(items, label="done"):
    """Yield the ``items`` and show how far it has got: a bar that is replaced by one line at the end.

    ``label``: what is counted, in words. An interrupt ends the loop around it and nothing else.

    >>> list(bar([]))
    []
    """
    items = list(items)
    handle, done = None, 0
    try:
        for item in items:
            shown = HTML(f'<progress max="{len(items)}" value="{done}" aria-label="{escape(label)}">'
                         f'</progress> {escape(label)}: {done} of {len(items)}')
            handle = handle.update(shown) or handle if handle else display(shown, display_id=True)
            yield item
            done += 1
    finally:
        if handle:
            handle.update(HTML(f"{escape(label)}: {done} of {len(items)}"))
