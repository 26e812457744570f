"""The accept and reject replay: one round of speculative decoding after the other, token by token.

``frames`` cuts a trace into still pictures, ``render`` makes one of them HTML; both are pure. ``ReplayLab``
plays them.
"""

import html
from dataclasses import dataclass, replace

import ipywidgets as widgets

from specdec_lessons import figures
from specdec_lessons.figures.style import STATES
from specdec_lessons.labs import kit

SPEEDS = {"slow": 1100, "normal": 550, "fast": 220}  # milliseconds a frame
HEIGHT, STILL_HEIGHT = "262px", "302px"  # a frame; and with the two lines under it
LAST_WORDS = {
    "correction": "the target's own token replaces it",
    "bonus": "the target adds a bonus token",
    "stopped": "the text ends",
}


@dataclass(frozen=True)
class Frame:
    """One still picture of the replay.

    ``chips`` are (token, state) of this round's drafts, ``waiting`` how many are still to be drafted,
    ``last`` the (token, state) that the target adds, or None; ``committed`` are (token, state) of the
    text so far and ``fresh`` how many of them this round has just added. ``passes`` counts target
    passes so far. ``phase`` says in words what happens, ``ends_round`` whether the round is complete.
    """

    round: int
    n_rounds: int
    phase: str
    chips: tuple = ()
    waiting: int = 0
    last: tuple | None = None
    committed: tuple = ()
    fresh: int = 0
    passes: int = 0
    checking: bool = False
    ends_round: bool = False


def frames(trace, vocabulary, max_rounds=None):
    """The still pictures of a ``decoding.Trace``, a tuple of ``Frame``: drafts appear one by one, one
    verify pass, a verdict on each draft up to the first rejection, the discarded tail, the added token.

    >>> from specdec_lessons.decoding import Round, Trace
    >>> one = Trace((Round((0, 1), 1, (0, 2), "correction"),))
    >>> [frame.phase for frame in frames(one, ["the", "cat", "dog"])][-1]
    '1 of 2 drafts accepted; the target’s own token replaces “cat”.'
    """
    rounds = trace.rounds[:max_rounds]
    made, committed = [], ()
    for number, one in enumerate(rounds, start=1):
        pictures, added = _round_frames(one, vocabulary)
        base = {"round": number, "n_rounds": len(rounds)}
        made += [
            replace(picture, **base, committed=committed, passes=number - (not picture.passes))
            for picture in pictures[:-1]
        ]
        committed += added
        made.append(
            replace(
                pictures[-1], **base, committed=committed, fresh=len(added), passes=number, ends_round=True
            )
        )
    return tuple(made)


def _round_frames(one, vocabulary):
    """Frames of one round (``passes`` 0 before its verify pass, 1 after), and what it commits."""

    def word(token):
        return f"“{vocabulary[token]}”"

    drafted, k, kept = one.drafted, len(one.drafted), one.accepted
    pictures = []

    def add(phase, states, waiting=0, last=None, passes=1, checking=False):
        pictures.append(
            Frame(0, 0, phase, tuple(zip(drafted, states)), waiting, last, passes=passes, checking=checking)
        )

    for n in range(1, k + 1):
        add(f"The draft proposes {word(drafted[n - 1])}, token {n} of {k}.", ["drafted"] * n, k - n, passes=0)
    positions = f"{k + 1} positions" if k else "1 position"
    add(f"One target pass scores {positions} at once.", ["drafted"] * k, checking=True)
    for n in range(1, kept + 1):
        add(
            f"{word(drafted[n - 1])} is accepted: the target verified it.",
            ["accepted"] * n + ["drafted"] * (k - n),
        )
    verdicts = ["accepted"] * kept
    if kept < k and one.last != "stopped":
        add(f"{word(drafted[kept])} is rejected.", [*verdicts, "rejected"] + ["drafted"] * (k - kept - 1))
        verdicts.append("rejected")
    if len(verdicts) < k:
        tail = k - len(verdicts)
        verdicts += ["discarded"] * tail
        add(f"What follows it is discarded unread: {tail} {'draft' if tail == 1 else 'drafts'}.", verdicts)
    has_last = len(one.emitted) > kept
    last = (one.emitted[-1], one.last if one.last in STATES else "bonus") if has_last else None
    added = tuple((token, "accepted") for token in drafted[:kept]) + ((last,) if has_last else ())
    add(_end_words(one, word, k, kept), verdicts, last=last)
    return pictures, added


def _end_words(one, word, k, kept):
    if not k:
        return "No drafts: a plain step, one token."
    count = (
        f"{kept} of {k} drafts accepted"
        if kept < k
        else f"All {k} drafts accepted"
        if k > 1
        else "The draft is accepted"
    )
    if one.last == "correction":
        return f"{count}; the target’s own token replaces {word(one.drafted[kept])}."
    if one.last == "bonus":
        return f"{count}; the same pass gives one bonus token."
    return f"{count}; the text ends here."


def is_greedy(trace):
    """Whether every verdict of a trace was certain (p of each judged draft 0 or 1), as at temperature 0.

    >>> from specdec_lessons.decoding import Judged, Round, Trace
    >>> is_greedy(Trace((Round((0,), 1, (0, 1), "bonus", (Judged(0, 1.0, 1.0, 0.3, True),)),)))
    True
    """
    judged = [one for each in trace.rounds for one in each.judged]
    return bool(judged) and all(one.p in (0.0, 1.0) for one in judged)


def what_is_the_same(greedy):
    """In one sentence: what speculative and plain decoding have in common, greedy or sampling."""
    if greedy:
        return "Greedy: the two texts are the same, word for word."
    return "Sampling: the same distribution of texts, not the same draw; plain passes are counted on this text."


def render(frame, vocabulary, prompt=(), same=""):
    """One frame as HTML. Every state has its sign and its word besides its colour.

    ``same`` is the sentence that says what the speculative and the plain text have in common.
    """
    waiting = frame.waiting + (not frame.ends_round)  # the target's own token has its place from the start
    chips = _chips(frame, vocabulary)
    chips += '<li class="sdl-chip sdl-waiting" aria-hidden="true"><i>·</i><span>···</span></li>' * waiting
    checking = " sdl-checking" if frame.checking else ""
    return (
        f'<div class="sdl-replay"><p class="sdl-phase"><b>Round {frame.round} of {frame.n_rounds}.</b> '
        f"{html.escape(frame.phase)}</p>"
        f'<div class="sdl-row"><span class="sdl-rowname">this round</span>'
        f'<ul class="sdl-chips{checking}">{chips}</ul></div>'
        f'<div class="sdl-both">{_both(frame, vocabulary, prompt)}</div>'
        f'<p class="sdl-same">{html.escape(same)}</p>{legend()}</div>'
    )


def render_still(made, vocabulary, same=""):
    """All rounds of some frames at once as HTML, one row a round: for those who asked for less motion."""
    ends = [frame for frame in made if frame.ends_round]
    rows = "".join(
        f'<div class="sdl-row"><span class="sdl-rowname">round {frame.round}</span>'
        f'<ul class="sdl-chips">{_chips(frame, vocabulary)}</ul></div>'
        for frame in ends
    )
    return (
        '<div class="sdl-replay sdl-still"><div class="sdl-allrounds" tabindex="0" role="group" '
        f'aria-label="all rounds">{rows}</div>'
        f'<p class="sdl-same">{html.escape(same)}</p>{legend()}{kit.sentence_html(summary(ends[-1]))}</div>'
    )


def _chips(frame, vocabulary):
    cells = [*frame.chips, *([frame.last] if frame.last else [])]
    return "".join(_chip(vocabulary[token], state) for token, state in cells)


def _chip(word, state):
    look = STATES[state]
    return (
        f'<li class="sdl-chip sdl-s-{state}" title="{look.label}"><i aria-hidden="true">{look.sign}</i>'
        f'<span>{html.escape(word)}</span><span class="sdl-sr">{look.label}</span></li>'
    )


def _prompt(vocabulary, prompt):
    words = " ".join(html.escape(vocabulary[token]) for token in prompt)
    return f'<span class="sdl-prompt">{words}</span> ' if words else ""


def _text(frame, vocabulary):
    first_new = len(frame.committed) - frame.fresh
    return " ".join(
        f'<span class="sdl-word sdl-u-{state}{" sdl-new" if i >= first_new else ""}" '
        f'title="{STATES[state].label}">'
        f"{html.escape(vocabulary[token])}<sup>{STATES[state].sign}</sup></span>"
        for i, (token, state) in enumerate(frame.committed)
    )


def _plain_text(frame, vocabulary):
    """The same text as plain decoding writes it: how far it is after as many passes, and what it lacks."""
    words = [html.escape(vocabulary[token]) for token, _ in frame.committed]
    done, missing = words[: frame.passes], words[frame.passes :]
    text = f'<span class="sdl-done">{" ".join(done)}</span>'
    if missing:
        text += (
            f' <span class="sdl-here">after {_passes(frame.passes)}</span> '
            f'<span class="sdl-missing">{" ".join(missing)}</span>'
        )
    return text


def _both(frame, vocabulary, prompt):
    """The speculative text and, beside it, the plain one, each with its target passes as number and bar."""
    plain = len(frame.committed)
    most = max(plain, frame.passes, 1)
    sides = (
        ("speculative", "committed, each word verified", frame.passes, "", _text),
        ("plain", "plain decoding", plain, " sdl-plain", _plain_text),
    )
    return "".join(
        f'<div class="sdl-side"><p class="sdl-sidename"><span>{title}</span>'
        f'<strong><span data-quantity="{name}_passes">{n}</span> target {"pass" if n == 1 else "passes"}'
        f'</strong></p><div class="sdl-track">'
        f'<div class="sdl-fill{kind}" style="width:{100 * n / most:.1f}%"></div></div><div class="sdl-text" tabindex="0" role="group" aria-label="{name} text">'
        f"<p>{_prompt(vocabulary, prompt)}{text(frame, vocabulary)}</p></div></div>"
        for name, title, n, kind, text in sides
    )


def _passes(n):
    return f"{n} pass" if n == 1 else f"{n} passes"


def legend():
    """The six states: colour, sign, word."""
    return (
        '<ul class="sdl-legend">'
        + "".join(
            f'<li><i class="sdl-s-{name}" aria-hidden="true">{state.sign}</i>{state.label}</li>'
            for name, state in STATES.items()
        )
        + "</ul>"
    )


def summary(frame):
    """The sentence under the replay: what the complete rounds so far have come to.

    >>> summary(Frame(2, 6, "", committed=((0, "accepted"),) * 7, passes=2, ends_round=True))
    'After 2 of 6 rounds: 7 tokens from 2 target passes; plain decoding would have needed 7.'
    """
    done = frame.round if frame.ends_round else frame.round - 1
    tokens = len(frame.committed)
    if not done:
        return f"Round 1 of {frame.n_rounds} is under way; nothing is committed yet."
    return (
        f"After {done} of {frame.n_rounds} rounds: {tokens} {'token' if tokens == 1 else 'tokens'} "
        f"from {done} target {'pass' if done == 1 else 'passes'}; plain decoding would have needed {tokens}."
    )


class Player:
    """Plays the frames of one trace: play, pause, step, scrub, speed. A part for labs.

    Where the learner's system asks for less motion, the style sheet puts all rounds at once in the place
    of frames that play by themselves, and "Step through" in the place of "Play".
    """

    def __init__(self, trace, vocabulary, prompt=(), max_rounds=None, extra=(), greedy=None):
        self.play = widgets.Play(interval=SPEEDS["normal"], show_repeat=False)
        self.toggle, pressed = kit.play_button(self.play, "Play or pause the replay")
        self.slider = widgets.IntSlider(
            readout=False,
            description="frame",
            tooltip="Scrub through the replay",
            style={"description_width": "initial"},
            layout=widgets.Layout(width="260px"),
        )
        self.links = [widgets.jslink((self.play, "value"), (self.slider, "value")), pressed]
        through = kit.button("Step through", "Show the rounds frame by frame", self.step_through)
        back = kit.button("Back", "One frame back", lambda: self.step(-1), icon="step-backward")
        forward = kit.button("Step", "One frame forward", lambda: self.step(1), icon="step-forward")
        self.speed = widgets.Dropdown(
            options=SPEEDS,
            value=SPEEDS["normal"],
            description="speed",
            tooltip="Speed of the replay",
            style={"description_width": "initial"},
            layout=widgets.Layout(width="140px"),
        )
        self.speed.observe(lambda change: setattr(self.play, "interval", change["new"]), names="value")
        self.picture, self.still = kit.html_box(), kit.html_box()
        self.picture.layout.height, self.still.layout.height = HEIGHT, STILL_HEIGHT
        self.sentence, region = kit.html_box(height="20px"), kit.LiveRegion("replay")
        self.view = kit.View(
            lambda frame: (render(frame, self.vocabulary, self.prompt, self.same), summary(frame)),
            self._show,
            widgets.VBox([self.picture, region.widget, self.sentence]),
        )
        self.view.region = region
        for part, name in (
            (self.toggle, "sdl-motion"),
            (self.speed, "sdl-motion"),
            (through, "sdl-less"),
            (self.still, "sdl-less"),
            (back, "sdl-byhand"),
            (forward, "sdl-byhand"),
            (self.slider, "sdl-byhand"),
            (self.view.widget, "sdl-byhand"),
        ):
            part.add_class(name)
        self.restarts, self.calm, self._greedy = 0, False, greedy
        parts = [self.play, self.toggle, through, back, forward, self.slider, self.speed, *extra]
        self.controls = kit.row(parts, gap="4px 10px")
        self.widget = widgets.VBox(
            [self.controls, self.view.widget, self.still], layout=widgets.Layout(width="100%")
        )
        self._load(trace, vocabulary, prompt, max_rounds)
        first_end = next((i for i, frame in enumerate(self.frames) if frame.ends_round), 0)
        self.slider.value = self.play.value = first_end
        self.slider.observe(self._moved, names="value")
        self.play.observe(lambda change: change["new"] and self._by_itself(), names="playing")
        self.draw()

    def _load(self, trace, vocabulary, prompt, max_rounds):
        if not trace.rounds[:max_rounds]:
            raise ValueError("trace must hold at least one round, got none")
        self.frames = frames(trace, vocabulary, max_rounds)
        self.vocabulary, self.prompt = tuple(vocabulary), tuple(prompt)
        self.same = what_is_the_same(is_greedy(trace) if self._greedy is None else self._greedy)
        self.slider.max = self.play.max = len(self.frames) - 1
        self.still.value = render_still(self.frames, self.vocabulary, self.same)

    def restart(self, trace, vocabulary, prompt=(), max_rounds=None):
        """Replay another trace from its first frame, playing (or all at once, after "Step through")."""
        self.slider.value = self.play.value = 0
        self._load(trace, vocabulary, prompt, max_rounds)
        self.restarts += 1
        self.draw()
        self._by_itself()
        self.play.playing = not self.calm

    def step(self, by):
        """Pause, and go ``by`` frames on (or back), as far as there are any."""
        self.play.playing = False
        self._by_hand()
        self.slider.value = min(max(self.slider.value + by, 0), self.slider.max)

    def step_through(self):
        """Go to the first frame and stay there; from now on nothing plays by itself."""
        self.calm, self.play.playing = True, False
        self._by_hand()
        self.slider.value = 0

    @property
    def frame(self):
        """The frame on show."""
        return self.frames[min(self.slider.value, len(self.frames) - 1)]

    def draw(self):
        """Show the frame that the slider points at."""
        self.view.update(self.frame)

    def _moved(self, _):
        if not self.play.playing:
            self._by_hand()
        self.draw()

    def _by_itself(self):
        self.widget.add_class("sdl-auto")

    def _by_hand(self):
        self.widget.remove_class("sdl-auto")

    def _show(self, shown):
        self.picture.value = shown[0]
        self.sentence.value = kit.sentence_html(shown[1], self.view.region.ident)


class ReplayLab(kit.Lab):
    """The replay of a ``decoding.Trace``, with the words of ``vocabulary``.

    ``prompt`` holds the token ids before the first round; ``max_rounds`` cuts a long trace short.
    ``greedy`` says whether the trace was decoded at temperature 0; None reads it off the verdicts.

    >>> from specdec_lessons.decoding import Round, Trace
    >>> lab = ReplayLab(Trace((Round((0, 1), 1, (0, 2), "correction"),)), ["the", "cat", "dog"])
    >>> lab.reading().sentence
    'After 1 of 1 rounds: 2 tokens from 1 target pass; plain decoding would have needed 2.'
    >>> lab.close()
    """

    title = "accept and reject, token by token"

    def __init__(self, trace, vocabulary, prompt=(), max_rounds=12, greedy=None):
        super().__init__()
        self.trace, self.vocabulary = trace, tuple(vocabulary)
        self.player = Player(trace, vocabulary, prompt, max_rounds, greedy=greedy)
        self._max_rounds = max_rounds
        self.links += self.player.links
        self.start([self.player.widget])

    def update(self):
        self.player.draw()

    def disown_sentences(self):
        if self.player.view.region.ident:
            self.player.view.region.disown()
            self.player.draw()

    def reading(self):
        return reading(self.player.frames[-1])

    def figure(self):
        return figure(self.trace.rounds[: self._max_rounds], self.vocabulary)


def reading(frame):
    """Sentence and counts of a frame."""
    passes, plain = frame.passes, len(frame.committed)
    return kit.Reading(
        summary(frame),
        (
            kit.Quantity("speculative_passes", "target passes", str(passes)),
            kit.Quantity("plain_passes", "target passes of plain decoding", str(plain)),
        ),
    )


@figures.styled
def figure(rounds, vocabulary):
    """The rounds as rows of chips, a static matplotlib figure."""
    widest = max(len(one.drafted) for one in rounds) + 1
    fig, ax = figures.new_figure(9.4, 0.62 * len(rounds) + 0.9)
    for y, one in enumerate(rounds):
        last_frame = _round_frames(one, vocabulary)[0][-1]
        cells = [*last_frame.chips, *([last_frame.last] if last_frame.last else [])]
        for x, (token, state) in enumerate(cells):
            look = STATES[state]
            ax.barh(
                y,
                0.94,
                left=x,
                height=0.8,
                color=look.colour if look.filled else "white",
                hatch=look.hatch,
                edgecolor=look.colour,
                linewidth=1.4,
            )
            text = ax.text(
                x + 0.47,
                y,
                f"{look.sign} {vocabulary[token]}",
                ha="center",
                va="center",
                color=look.ink,
                fontsize=9.5 if widest <= 8 else 6.5,
            )
            if look.hatch:
                text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 1})
    ax.set_xlim(0, widest)
    ax.set_ylim(len(rounds) - 0.5, -0.5)
    ax.set_yticks(range(len(rounds)), [f"round {n}" for n in range(1, len(rounds) + 1)])
    ax.set_xticks([])
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    ax.set_xlabel("   ".join(f"{state.sign} {state.label}" for state in STATES.values()))
    words = "; ".join(
        f"round {n}: {one.accepted} of {len(one.drafted)} drafts accepted, then {one.last}"
        for n, one in enumerate(rounds, start=1)
    )
    return figures.describe(fig, f"Rounds of speculative decoding, one row each. {words}.")
