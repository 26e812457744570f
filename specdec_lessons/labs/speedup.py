"""The lab of lessons 3 and 4: acceptance, draft length and draft cost against tokens per pass and speedup."""

from functools import lru_cache

import numpy as np

from specdec_lessons import decoding, formulas, models
from specdec_lessons.labs import kit, replay
from specdec_lessons.labs.kit import Curves, Mark, Plot, Quantity, Reading

LONGEST = 16  # drafts a pass that the lab offers
ROUNDS = 6  # rounds that the replay shows
AGREEMENT = {"aligned": 0.9, "weak": 0.4}  # acceptance rate that each kind of draft sets
PROMPT = "the old woman"
GRID = np.linspace(0.0, 1.0, 101)
LENGTHS = np.arange(LONGEST + 1)
TOPS = (3, 5, 8, 12, 18)

_NOW = Mark("now", "now", "●", "now", "points", size=150)
_EVEN = Mark("even", "guide", "┄", "plain decoding", style="dashed", width=1.5)
_BEST = Mark("best", "best", "◆", "best k", "points", marker="diamond", size=190)
_CEILING = Mark("ceiling", "guide", "┄", "ceiling 1/(1 − a)", style="dashed", width=1.8)
_LENGTH_TICKS = (0, 2, 4, 6, 8, 10, 12, 14, 16)

PLOTS = {
    "tokens_by_acceptance": Plot(
        "Tokens per pass, E",
        "acceptance rate a",
        "tokens per pass",
        (0, 1),
        (0, 5.5),
        (_CEILING, Mark("curve", "curve", "━", ""), _NOW),
        x_ticks=(0, 0.2, 0.4, 0.6, 0.8, 1),
    ),
    "tokens_by_length": Plot(
        "Tokens per pass, E",
        "draft length k",
        "tokens per pass",
        (-0.3, LONGEST + 0.3),
        (0, 5.5),
        (_CEILING, Mark("curve", "curve", "━", "", dots=True), _NOW),
        x_ticks=_LENGTH_TICKS,
    ),
    "speedup_by_length": Plot(
        "Net speedup, S",
        "draft length k",
        "times plain decoding",
        (-0.3, LONGEST + 0.3),
        (0, 3),
        (_EVEN, Mark("curve", "curve", "━", "", dots=True), _BEST, _NOW),
        x_ticks=_LENGTH_TICKS,
    ),
    "speedup_by_acceptance": Plot(
        "Net speedup, S",
        "acceptance rate a",
        "times plain decoding",
        (0, 1),
        (0, 5),
        (_EVEN, Mark("curve", "curve", "━", ""), _NOW),
        x_ticks=(0, 0.2, 0.4, 0.6, 0.8, 1),
    ),
}
SHOWN = {
    "both": ("tokens_by_acceptance", "speedup_by_length"),
    "tokens": ("tokens_by_acceptance", "tokens_by_length"),
    "speedup": ("speedup_by_length", "speedup_by_acceptance"),
}


# ---- views: pure functions of the state -----------------------------------------------------------------


def verify_costs(state):
    """Cost of a pass over k + 1 positions for k = 0 … 16; without drafts it is the plain step itself.

    >>> verify_costs({"v": 2.0})[:3].tolist()
    [1.0, 2.0, 2.0]
    """
    v = state.get("v", 1.0)
    return np.asarray(v, dtype=float) if np.ndim(v) else np.where(LENGTHS == 0, 1.0, float(v))


def tokens_by_acceptance(state):
    """E against a at the state's k, and the ceiling that no draft length passes."""
    k = state["k"]
    below = GRID[:-1]
    return Curves(
        {
            "curve": (GRID, formulas.expected_tokens(GRID, k)),
            "ceiling": (below, 1 / (1 - below)),
            "now": (state["a"], formulas.expected_tokens(state["a"], k)),
        },
        top=1.1 * (k + 1),
    )


def tokens_by_length(state):
    """E against k at the state's a, and its ceiling."""
    a = state["a"]
    lengths = LENGTHS[: len(verify_costs(state))]
    tokens = formulas.expected_tokens(a, lengths)
    ceiling = 1 / (1 - a) if a < 1 else 10 * LONGEST
    top = kit.nice_top(min(ceiling, LONGEST + 1), (2, 3.5, 6, 9, 12, 18))
    return Curves(
        {
            "curve": (lengths, tokens),
            "ceiling": ((0, LONGEST), (ceiling, ceiling)),
            "now": (state["k"], tokens[state["k"]]),
        },
        top=top,
    )


def speedup_by_length(state):
    """S against k at the state's a and c, the best k, and the line of plain decoding."""
    speedups = _speedups(state)
    best = _best(state)
    return Curves(
        {
            "curve": (LENGTHS[: len(speedups)], speedups),
            "even": ((0, LONGEST), (1, 1)),
            "best": (best, speedups[best]),
            "now": (state["k"], speedups[state["k"]]),
        },
        top=kit.nice_top(speedups.max(), TOPS),
    )


def speedup_by_acceptance(state):
    """S against a at the state's k and c, and the line of plain decoding."""
    k, c, v = state["k"], state["c"], verify_costs(state)[state["k"]]
    curve = formulas.speedup(GRID, k, c, v)
    return Curves(
        {
            "curve": (GRID, curve),
            "even": ((0, 1), (1, 1)),
            "now": (state["a"], formulas.speedup(state["a"], k, c, v)),
        },
        top=kit.nice_top(curve.max(), TOPS),
    )


def _speedups(state):
    return _speedups_and_best(state["a"], state["c"], tuple(verify_costs(state).tolist()))[0]


def _best(state):
    return _speedups_and_best(state["a"], state["c"], tuple(verify_costs(state).tolist()))[1]


@lru_cache(maxsize=4)
def _speedups_and_best(a, c, v):
    """S for k = 0, 1, …, len(v) − 1, and the best k: three views of one state ask for them."""
    best = formulas.best_draft_length(a, c, k_max=len(v) - 1, verify_cost=v)
    return formulas.speedup(a, LENGTHS[: len(v)], c, np.array(v)), best


def reading(state):
    """The numbers of one state and its summary sentence.

    >>> reading({"a": 0.8, "k": 4, "c": 0.1}).sentence
    'With a = 0.80 and k = 4, one pass yields 3.36 tokens on average; net speedup 2.40×.'
    """
    a, k = state["a"], state["k"]
    tokens, gain, best = formulas.expected_tokens(a, k), _speedups(state)[k], _best(state)
    quantities = (
        Quantity("expected_tokens", "tokens per pass", f"{tokens:.2f}"),
        Quantity("speedup", "net speedup", f"{gain:.2f}", "×"),
        Quantity("wasted_drafts", "wasted drafts", f"{formulas.expected_wasted_drafts(a, k):.2f}", f"of {k}"),
        Quantity(
            "best_draft_length",
            "best draft length",
            str(best),
            "do not draft"
            if best == 0
            else "longest offered"
            if best == len(verify_costs(state)) - 1
            else "",
        ),
        Quantity("best_speedup", "speedup there", f"{_speedups(state)[best]:.2f}", "×"),
    )
    verdict = ", slower than plain decoding" if gain < 1 else ""
    unit = "token" if f"{tokens:.2f}" == "1.00" else "tokens"
    return Reading(
        f"With a = {a:.2f} and k = {k}, one pass yields {tokens:.2f} {unit} on average; "
        f"net speedup {gain:.2f}×{verdict}.",
        quantities,
    )


@lru_cache(maxsize=1)
def _story():
    target = models.story_model()
    return target, models.encode(target, PROMPT)


def example_trace(a, k, seed, n_rounds=ROUNDS):
    """Rounds of the real loop on the story model, with a draft that is accepted at rate a. A ``Trace``."""
    target, prompt = _story()
    draft = models.AgreeingDraft(target, a)
    trace = decoding.speculative_decode(
        target, draft, prompt, n_rounds * (k + 1), k, rng=np.random.default_rng(seed)
    )
    return decoding.Trace(trace.rounds[:n_rounds])


def figure(state, shown=SHOWN["both"]):
    """The two plots of a state, side by side, as a static matplotlib figure."""
    titles = " and ".join(f"{PLOTS[name].title} against {PLOTS[name].x_label}" for name in shown)
    return kit.static_plots({name: PLOTS[name] for name in shown}, VIEWS, state,
                            f"Two curves: {titles}. {reading(state).sentence}")


VIEWS = {
    "tokens_by_acceptance": tokens_by_acceptance,
    "tokens_by_length": tokens_by_length,
    "speedup_by_length": speedup_by_length,
    "speedup_by_acceptance": speedup_by_acceptance,
}


# ---- the lab --------------------------------------------------------------------------------------------


class SpeedupLab(kit.Lab):
    """Drag a, k and c: tokens per pass and speedup follow. A new k or another draft replays the rounds.

    ``show`` chooses the two curves: 'both' (tokens against a, speedup against k), 'tokens' or 'speedup'.
    ``verify_cost`` is the cost of the verify pass in plain steps: a number gives it a slider of its own;
    a sequence v[0], …, v[k] (v[k] for a pass over k + 1 positions, for example measured) is used as it is and
    limits k to its length. None takes the usual assumption that a pass costs one step (with
    ``show='speedup'``: a slider at 1). ``with_replay=False`` leaves the animation out. ValueError for
    anything else.

    >>> lab = SpeedupLab(a=0.5)
    >>> lab.reading().sentence
    'With a = 0.50 and k = 4, one pass yields 1.94 tokens on average; net speedup 1.38×.'
    >>> lab.close()
    """

    title = "tokens per pass and net speedup"

    def __init__(self, a=0.8, k=4, c=0.1, show="both", verify_cost=None, with_replay=True, seed=0):
        super().__init__()
        if show not in SHOWN:
            raise ValueError(f"show must be one of {', '.join(map(repr, SHOWN))}, got {show!r}")
        self.shown, self.seed = SHOWN[show], seed
        self._measured = _as_costs(verify_cost)
        longest = LONGEST if self._measured is None else len(self._measured) - 1
        self.a = kit.Number(
            "acceptance a", float(a), 0.0, 1.0, 0.01, "How often the target accepts a judged draft."
        )
        self.k = kit.Number(
            "draft length k", int(k), 0, longest, 1, "Tokens drafted before each target pass."
        )
        self.c = kit.Number("draft cost c", float(c), 0.0, 1.0, 0.01, "One draft step, in target steps.")
        self.draft = kit.Choice(
            "draft",
            list(AGREEMENT),
            _kind(a),
            "Aligned: accepted 9 times in 10. Weak: 4 in 10.",
            buttons=True,
            width="200px",
        )
        self.controls = {"a": self.a, "k": self.k, "c": self.c, "draft": self.draft}
        numbers = [self.a, self.k, self.c]
        if show == "speedup" and verify_cost is None or np.ndim(verify_cost) == 0 and verify_cost is not None:
            self.v = kit.Number(
                "pass cost v", float(verify_cost or 1.0), 1.0, 8.0, 0.05, "One verify pass, in plain steps."
            )
            self.controls["v"] = self.v
            numbers.append(self.v)

        self.views["numbers"] = kit.View.words("speedup", reading, "76px")
        plots = self.add_plots({name: PLOTS[name] for name in self.shown}, VIEWS)
        self.player = self._new_player() if with_replay else None
        self.start(
            [
                kit.row([*(control.widget for control in numbers), self.draft.widget]),
                self.views["numbers"].widget,
                plots,
                *([self.heading, self.player.widget] if with_replay else []),
            ]
        )

    @property
    def state(self):
        return {**super().state, **({} if self._measured is None else {"v": self._measured})}

    def react(self, names):
        if "draft" in names and self.draft.value:
            with self.quietly():
                self.a.value = AGREEMENT[self.draft.value]
        elif "a" in names:
            with self.quietly():
                self.draft.value = _kind(self.a.value)
        self.update()
        if self.player and {"draft", "k"} & set(names):
            self.replay()

    def replay(self):
        """Draw rounds at the present a and k, and play them from the start."""
        self.player.restart(*self._rounds())

    def new_rounds(self):
        """Other rounds at the present a and k: the next seed."""
        self.seed += 1
        self.replay()

    def _rounds(self):
        a, k = self.a.value, self.k.value
        self.heading.value = (
            f'<div class="sdl-caption"><b>{ROUNDS} rounds of the real loop</b> '
            f"<span class='sdl-key'>drawn with a = {a:.2f}, k = {k}</span></div>"
        )
        target, prompt = _story()
        return example_trace(a, k, self.seed), target.vocabulary, prompt

    def _new_player(self):
        self.heading = kit.html_box(height="20px")
        again = kit.button(
            "New rounds",
            "Draw other rounds at the present a and k, and replay them",
            self.new_rounds,
            icon="refresh",
        )
        player = replay.Player(*self._rounds(), extra=[again], greedy=False)
        self.links += player.links
        return player

    def disown_sentences(self):
        super().disown_sentences()
        if self.player and self.player.view.region.ident:
            self.player.view.region.disown()
            self.player.draw()

    def reading(self):
        return reading(self.state)

    def figure(self):
        return figure(self.state, self.shown)


def _kind(a):
    """The kind of draft whose acceptance rate is a, or None: then no button is pressed, so that each acts."""
    return next((kind for kind, rate in AGREEMENT.items() if abs(a - rate) < 1e-9), None)


def _as_costs(verify_cost):
    if verify_cost is None or np.ndim(verify_cost) == 0:
        return None
    costs = np.asarray(verify_cost, dtype=float)
    if costs.ndim != 1 or not 2 <= costs.size or not np.all(costs > 0):
        raise ValueError(f"verify_cost must be one number or at least two above 0, got {verify_cost!r}")
    return costs[: LONGEST + 1]
