"""The lab of lesson 7: drafting policies over the same texts, and one round of one of them explained."""

import html
import math

from specdec_lessons import drafting, figures
from specdec_lessons import policy_race as races
from specdec_lessons.labs import kit, replay
from specdec_lessons.labs.kit import Quantity, Reading

WORLDS = {"alike everywhere": "iid", "easy and hard stretches": "two-state", "the story": "story"}
COSTS = {f"c = {c:g}": c for c in races.STORED_COSTS}
POLICIES = ("fixed k", "+2 / −1", "confidence", "survival", "oracle")
SEEDS, TOKENS = tuple(range(8)), 300
ROUNDS = 40  # that may be looked at
ROW = (
    "display:grid;grid-template-columns:86px minmax(110px,1fr) 52px 82px 50px 50px 50px;gap:0 8px;"
    "align-items:center;"
    "font-variant-numeric:tabular-nums;"
)


# ---- views: pure functions of the state -----------------------------------------------------------------


def chosen(state):
    """The world of a state and its policies by name, as they are set."""
    name, c = WORLDS[state["world"]], COSTS[state["c"]]
    world = races.WORLDS[name]()
    estimate, typical = races.learned(world)
    return world, {
        "fixed k": drafting.Fixed(state["k"]),
        "+2 / −1": drafting.AdditiveSchedule(),
        "confidence": drafting.ConfidenceThreshold(state["threshold"]),
        "survival": drafting.SurvivalProduct(state["price"], typical, estimate),
        "oracle": races.stored_oracle(name, c),
    }


def race(state):
    """The results of a state by policy, and that of the clairvoyant."""
    world, policies = chosen(state)
    c = COSTS[state["c"]]
    results = races.race(world, policies, c, SEEDS, TOKENS)
    return dict(zip(policies, results)), races.clairvoyant(world, c, SEEDS, TOKENS)


def reading(state):
    """The numbers of one state and its summary sentence.

    >>> state = {"world": "easy and hard stretches", "c": "c = 0.1", "k": 4, "threshold": 0.5, "price": 0.2,
    ...          "policy": "confidence", "round": 1}
    >>> reading(state).sentence[:72]
    'On easy and hard stretches at c = 0.1, confidence is fastest of the four'
    """
    results, _ = race(state)
    oracle = results["oracle"]
    real = {name: one for name, one in results.items() if name != "oracle"}
    fastest = max(real, key=lambda name: real[name].speedup.mean)
    one = results[state["policy"]]
    quantities = (
        Quantity("speedup", f"net speedup, {state['policy']}", f"{one.speedup.mean:.2f}", "×"),
        Quantity("share_of_oracle", "of the oracle", f"{100 * one.share_of(oracle).mean:.0f}", "%"),
        Quantity("tokens_per_pass", "tokens per pass", f"{one.tokens_per_pass:.2f}"),
        Quantity("drafted_per_pass", "drafted per pass", f"{one.drafted_per_pass:.2f}"),
        Quantity("wasted_drafts", "wasted drafts", f"{one.wasted_per_pass:.2f}", "per pass"),
    )
    place = {"alike everywhere": "Where all is alike", "the story": "On the story"}.get(
        state["world"], f"On {state['world']}"
    )
    best = real[fastest].speedup.mean
    slower = ", slower than plain decoding" if best < 1 else ""
    return Reading(
        f"{place} at {state['c']}, {fastest} is fastest of the four with {best:.2f}×{slower}, "
        f"{100 * real[fastest].share_of(oracle).mean:.0f} % of the oracle’s {oracle.speedup.mean:.2f}×.",
        quantities,
    )


def bars_html(state):
    """One bar a policy: net speedup, its interval, the lines of oracle and clairvoyant, numbers beside it."""
    results, ceiling = race(state)
    oracle = results["oracle"]
    right = 1.06 * max(ceiling.speedup.mean, *(one.speedup.high for one in results.values()))

    def percent(x):
        return f"{100 * max(0.0, x) / right:.2f}%"

    def line(x, style, colour):
        return (
            f'<span style="position:absolute;top:-3px;bottom:-3px;left:{percent(x)};'
            f'border-left:2px {style} var(--sdl-{colour})"></span>'
        )

    rows = []
    for name, one in results.items():
        speed, share = one.speedup, one.share_of(oracle).mean
        key = _key(name)
        colour = "best" if name == "oracle" else "now" if name == state["policy"] else "curve"
        rows.append(
            f'<div style="{ROW}min-height:27px"><span>{html.escape(name)}</span>'
            '<span style="position:relative;height:17px;background:var(--sdl-rule);border-radius:3px">'
            f'<span style="position:absolute;inset:0 auto 0 0;width:{percent(speed.mean)};'
            f'background:var(--sdl-{colour});border-radius:3px"></span>'
            + line(1, "dashed", "guide")
            + line(oracle.speedup.mean, "solid", "best")
            + line(ceiling.speedup.mean, "dotted", "now")
            + '<span style="position:absolute;top:7px;height:3px;background:var(--sdl-ink);'
            f"box-shadow:0 0 0 1px var(--sdl-panel);left:{percent(speed.low)};"
            f'width:{percent(speed.high - speed.low)}"></span></span>'
            f'<span><b data-quantity="speedup_{key}">{speed.mean:.2f}</b>×</span>'
            f'<small>[<span data-quantity="speedup_low_{key}">{speed.low:.2f}</span>, '
            f'<span data-quantity="speedup_high_{key}">{speed.high:.2f}</span>]</small>'
            f'<span><span data-quantity="share_{key}">{100 * share:.0f}</span> %</span>'
            f"<span>{one.tokens_per_pass:.2f}</span><span>{one.wasted_per_pass:.2f}</span></div>"
        )
    keys = (
        ("┄", "guide", "plain decoding, 1×"),
        ("│", "best", f"oracle {oracle.speedup.mean:.2f}×"),
        ("┊", "now", f"clairvoyant {ceiling.speedup.mean:.2f}×"),
        ("━", "ink", f"95 % interval over {len(SEEDS)} texts"),
    )
    key = "".join(
        f'<span class="sdl-key"><span class="sdl-swatch" style="color:var(--sdl-{colour})" '
        f'aria-hidden="true">{sign}</span>'
        f" {html.escape(words)}</span>"
        for sign, colour, words in keys
    )
    heads = ("", "", "speedup", "interval", "of oracle", "tokens a pass", "wasted a pass")
    head = "".join(f"<span>{words}</span>" for words in heads)
    return (
        f'<div class="sdl-caption"><b>Net speedup over the same texts</b>{key}</div>'
        f'<div style="{ROW}font-size:11px;line-height:1.15;color:var(--sdl-muted);align-items:end">'
        f"{head}</div>"
        f'<div style="margin-top:2px">{"".join(rows)}</div>'
    )


def _key(name):
    return {"fixed k": "fixed", "+2 / −1": "schedule"}.get(name, name)


def explain(state):
    """One round of the chosen policy: world, round, top probabilities, its number, and why it ended."""
    world, policies = chosen(state)
    policy = policies[state["policy"]]
    rounds = races.play(world, policy, TOKENS, 0).rounds
    number = min(state["round"], len(rounds))
    one = rounds[number - 1]
    course = races.course_of(world, TOKENS, 0)
    start = sum(len(r.emitted) for r in rounds[: number - 1])
    places = [course.contexts[start] + one.drafted[:i] for i in range(len(one.drafted) + 1)]
    if len(one.drafted) == len(course.tokens) - start - 1:
        why = "There the text was nearly full: one word is the target’s own."
    else:
        why = _why(policy, one, [world.at(place) for place in places], places[-1], rounds[: number - 1])
    return world, one, [world.at(place).confidence for place in places[:-1]], number, why


def _why(policy, one, places, context, past):
    n = len(one.drafted)
    words = f"{n} {'draft' if n == 1 else 'drafts'}"
    if isinstance(policy, drafting.Fixed):
        return f"Always {words}, whatever they are."
    if isinstance(policy, drafting.AdditiveSchedule):
        if not past:
            return f"It starts with {words}."
        last, verdict = past[-1], "were all kept: two more"
        if last.accepted < len(last.drafted):
            verdict = "were not all kept: one fewer, but never none"
        count = len(last.drafted)
        return f"The {count} of the round before {verdict}, so {words} (16 at most)."
    if n == policy.most:
        return f"It stopped at {words}, the most that it may."
    if isinstance(policy, drafting.ConfidenceThreshold):
        return (
            f"It stopped behind the first draft whose top probability was below {policy.threshold:.2f}: "
            f"{places[n - 1].confidence:.2f}."
        )
    if isinstance(policy, drafting.SurvivalProduct):
        reached = math.prod(policy.estimate(place.q) for place in places[:n])
        return (
            f"Its estimate that nothing so far fails is {reached:.2f}; times {policy.typical:.2f} for the "
            f"next draft that is {reached * policy.typical:.2f}, not above the price {policy.price:.2f}."
        )
    product, price = math.prod(place.chance for place in places), policy.price(context)
    return f"The next one would be kept with chance {product:.2f}, not above the price {price:.2f}."


def round_html(state):
    """One round as chips, each word with its verdict and how sure the draft was; then why it ended."""
    world, one, sure, number, why = explain(state)
    vocabulary = world.target.vocabulary
    chips = ""
    for i, (token, x) in enumerate(zip(one.drafted, sure)):
        verdict = "accepted" if i < one.accepted else "rejected" if i == one.accepted else "discarded"
        chips += _chip(vocabulary[token], verdict, f"{x:.2f}")
    chips += _chip(vocabulary[one.emitted[-1]], one.last, "target")
    kept = f"{one.accepted} of {len(one.drafted)} kept"
    return (
        f'<div class="sdl-caption"><b>Round {number} of {html.escape(state["policy"])}</b>'
        f'<span class="sdl-key">under each draft: the top probability of the draft there</span></div>'
        f'<ul class="sdl-chips" style="margin-top:4px">{chips}</ul>'
        f'<p class="sdl-summary" style="margin:4px 0 6px"><span data-quantity="round_kept">{kept}</span>. '
        f'<span data-quantity="round_reason">{html.escape(why)}</span></p>{replay.legend()}'
    )


def _chip(word, state, under):
    look = figures.STATES[state]
    return (
        f'<li class="sdl-chip sdl-s-{state}" title="{look.label}"><i aria-hidden="true">{look.sign}</i>'
        f'<span>{html.escape(word)}</span><small style="font-size:11px">{under}</small>'
        f'<span class="sdl-sr">{look.label}</span></li>'
    )


def figure(state):
    """The race of a state as a static matplotlib figure."""
    results, ceiling = race(state)
    title = f"Net speedup, {state['world']}, {state['c']}"
    return figures.policy_race(results.values(), results["oracle"], ceiling, title)


# ---- the lab --------------------------------------------------------------------------------------------


class PolicyRaceLab(kit.Lab):
    """Set four policies, race them over the same texts against the oracle, and look into a round of one.

    ``world`` is one of ``WORLDS``, ``c`` one of ``policy_race.STORED_COSTS``, ``policy`` the one whose
    numbers and rounds are shown. ValueError for anything else.

    >>> lab = PolicyRaceLab(k=3)
    >>> lab.state["k"], lab.state["policy"]
    (3, 'confidence')
    >>> lab.close()
    """

    title = "a race of drafting policies"

    def __init__(
        self, world="easy and hard stretches", c=0.1, k=4, threshold=0.5, price=0.2, policy="confidence"
    ):
        super().__init__()
        for name, value, among in (
            ("world", world, WORLDS),
            ("c", c, COSTS.values()),
            ("policy", policy, POLICIES),
        ):
            if value not in among:
                raise ValueError(f"{name} must be one of {', '.join(map(str, among))}, got {value!r}")
        self.world = kit.Choice("text", list(WORLDS), world, "Which pair of models and which texts.")
        self.c = kit.Choice(
            "draft step",
            list(COSTS),
            f"c = {c:g}",
            "The cost of a draft step, in target steps.",
            width="190px",
        )
        self.k = kit.Number(
            "fixed k",
            int(k),
            0,
            drafting.LONGEST,
            1,
            "Drafts of every round of the policy “fixed k”.",
            follow=False,
        )
        self.threshold = kit.Number(
            "confidence below",
            float(threshold),
            0.0,
            1.0,
            0.05,
            "“confidence” stops behind a draft whose top probability is below this.",
            follow=False,
        )
        self.price = kit.Number(
            "survival price",
            float(price),
            0.0,
            1.0,
            0.01,
            "“survival” drafts while the chance that the next draft is kept is above this.",
            follow=False,
        )
        self.policy = kit.Choice(
            "look at", list(POLICIES), policy, "Whose numbers and rounds are shown.", width="230px"
        )
        self.round = kit.Number("round", 1, 1, ROUNDS, 1, "Which round of the first text is shown.")
        self.controls = {
            name: getattr(self, name) for name in ("world", "c", "k", "threshold", "price", "policy", "round")
        }
        self.views["numbers"] = kit.View.words("policies", reading, "76px")
        bars, one = kit.html_box(height="186px"), kit.html_box(height="236px")
        self.views["bars"] = kit.View(bars_html, lambda shown: setattr(bars, "value", shown), bars)
        self.views["round"] = kit.View(round_html, lambda shown: setattr(one, "value", shown), one)
        self.start(
            [
                kit.row([self.world.widget, self.c.widget]),
                kit.row([self.k.widget, self.threshold.widget, self.price.widget]),
                self.views["bars"].widget,
                kit.row([self.policy.widget, self.round.widget]),
                self.views["numbers"].widget,
                self.views["round"].widget,
            ]
        )

    def react(self, names):
        if set(names) == {"round"}:
            self.views["round"].update(self.state)
        else:
            self.update()

    def reading(self):
        return reading(self.state)

    def figure(self):
        return figure(self.state)
