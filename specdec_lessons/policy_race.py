"""Drafting policies side by side on three pairs of models: how many tokens, how much waste, what speedup.

Three worlds: ``iid`` (the same acceptance everywhere), ``two-state`` (easy and hard stretches) and ``story``
(the course's toy target with a draft that looks less far back).

All policies run over the same course: a text of the target, and at each of its positions whether the draft
would have hit that very word. This changes no law. A draft from q that is kept with min(1, p/q), else
replaced from the residual, comes out as x with p(x), and then was kept with min(1, q(x)/p(x)); one that was
not kept was distributed as normalize(max(0, q − p)). So the text may be drawn first and the verdicts
afterwards, and what chance gives to one policy it gives to all.
"""

import json
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files

import numpy as np
from scipy import stats

from specdec_lessons import _checks, drafting
from specdec_lessons.decoding import Round, accept_ratio
from specdec_lessons.drafting import Past
from specdec_lessons.models import AgreeingDraft, TableModel, encode, story_model
from specdec_lessons.rejection import cumulative, residual

TRAINING_SEEDS = tuple(range(1000, 1004))
RACE_SEEDS = tuple(range(20))
TOKENS = 600  # of one course
STORED_COSTS = (0.02, 0.05, 0.1, 0.2, 0.3)  # draft costs at which the oracle's prices are stored


# -- the worlds -------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Position:
    """One place in a text: q, the chance of acceptance, the draft's top probability, and what to draw from.

    ``kept[x]`` is min(1, q/p) of token x; the edges are the running sums of p, of q and of
    normalize(max(0, q − p)).
    """

    q: np.ndarray
    chance: float
    confidence: float
    kept: list
    p_edges: list
    q_edges: list
    surplus_edges: list


@dataclass(frozen=True, eq=False)
class World:
    """A target, a draft, a prompt, and how many of the last tokens both look at."""

    name: str
    target: object
    draft: object
    order: int
    prompt: tuple
    _seen: dict = field(default_factory=dict, repr=False)

    def at(self, context):
        """The :class:`Position` after these tokens (a tuple)."""
        key = context[max(0, len(context) - self.order):]
        found = self._seen.get(key)
        if found is None:
            found = self._seen[key] = _position(self.target.next_probs(key), self.draft.next_probs(key))
        return found

    def chance(self, context):
        """Σ min(p, q) after these tokens: what an oracle knows."""
        return self.at(context).chance


def _position(p, q):
    p, q = _checks.pair(p, q)
    kept = [accept_ratio(token, q, p) if p[token] > 0 else 0.0 for token in range(p.size)]
    p_edges, q_edges, surplus_edges = (cumulative(law).tolist() for law in (p, q, residual(q, p)))
    return Position(q, float(np.minimum(p, q).sum()), float(q.max()), kept, p_edges, q_edges, surplus_edges)


@lru_cache(maxsize=16)
def iid_world(a=0.8):
    """Every draft is accepted with probability ``a``, and the draft is equally sure of each.

    >>> world = iid_world(0.8)
    >>> round(world.chance((0,)), 12), round(world.chance((3, 1)), 12)
    (0.8, 0.8)
    """
    target = TableModel("abcd", [0.5, 0.3, 0.2, 0.0])
    return World("iid", target, AgreeingDraft(target, a), 1, (0,))


@lru_cache(maxsize=16)
def two_state_world(easy=0.95, hard=0.3, stay=0.95, words=5):
    """Easy stretches, where drafts are accepted at rate ``easy``, and hard ones at rate ``hard``.

    The next position is of the same kind with probability ``stay``, so a stretch is 1/(1 − stay) tokens long
    on average. Each kind has 2 × ``words`` words of its own; the kind of a word tells that of the position
    after it. At an easy position the target has one word in mind and the draft gives it ``easy``; at a hard
    one both hesitate between several words, of which they share some.

    >>> world = two_state_world()
    >>> round(world.chance((0,)), 12), round(world.chance((10,)), 12)
    (0.95, 0.3)
    """
    easy, hard, stay = (_checks.single(name, _checks.probability, value)
                        for name, value in (("easy", easy), ("hard", hard), ("stay", stay)))
    one = np.arange(2 * words) == 0
    few = np.arange(2 * words) < words
    content = {"p": (one / 1.0, few / words),
               "q": (np.where(one, easy, (1 - easy) / (2 * words - 1)),
                     np.where(few, hard / words, (1 - hard) / words))}
    kinds = np.array([[stay, 1 - stay], [1 - stay, stay]])

    def table(name):
        rows = [np.outer(kinds[kind], content[name][kind]).ravel() for kind in (0, 1)]
        return np.repeat(rows, 2 * words, axis=0)

    vocabulary = [f"{kind}{i}" for kind in ("easy", "hard") for i in range(1, 2 * words + 1)]
    return World("two-state", TableModel(vocabulary, table("p")), TableModel(vocabulary, table("q")), 1, (0,))


@lru_cache(maxsize=1)
def story_world():
    """The course's story model, which looks three words back, and a smoothed draft that looks back two."""
    target = story_model()
    return World("story", target, story_model(order=2, smoothing=1.0), 3, encode(target, "the old woman"))


WORLDS = {"iid": iid_world, "two-state": two_state_world, "story": story_world}


# -- one run ----------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Course:
    """A text to run over: its tokens, and at each what the draft says there and whether that is kept.

    ``contexts[t]`` are the tokens before position t that the models look at, ``places[t]`` its Position.
    """

    tokens: tuple
    drafts: tuple
    kept: tuple
    contexts: tuple = field(repr=False)
    places: tuple = field(repr=False)


def lay_course(world, n_tokens, rng):
    """Draw a text of the target and the verdicts along it. Returns a :class:`Course`."""
    context, columns = world.prompt, []
    for _ in range(n_tokens):
        context = context[max(0, len(context) - world.order):]
        place = world.at(context)
        token = bisect_right(place.p_edges, rng.random())
        kept = rng.random() < place.kept[token]
        columns.append((token, token if kept else bisect_right(place.surplus_edges, rng.random()), kept,
                        context, place))
        context = (*context, token)
    return Course(*zip(*columns)) if columns else Course((), (), (), (), ())


@dataclass(frozen=True)
class Run:
    """What one run counted; ``confidences`` and ``verdicts`` belong to its judged drafts."""

    tokens: int
    passes: int
    drafted: int
    accepted: int
    rounds: tuple = field(default=(), repr=False)
    confidences: tuple = field(default=(), repr=False)
    verdicts: tuple = field(default=(), repr=False)

    def speedup(self, c, verify_cost=1.0):
        """Tokens for the time, in plain steps: tokens / (passes v + drafted c).

        >>> Run(10, 4, 10, 6).speedup(0.1)
        2.0
        """
        return self.tokens / (self.passes * verify_cost + self.drafted * c)


def run_over(course, world, policy, rng):
    """The speculative loop over a course -> :class:`Run`. ``rng`` draws the drafts behind a rejection."""
    start, rounds, judged = 0, [], []
    while start < len(course.tokens):
        one = _round(course, world, policy, start, rounds, rng)
        end = min(start + one.accepted + 1, start + len(one.drafted))
        judged += [(course.places[t].confidence, course.kept[t]) for t in range(start, end)]
        rounds.append(one)
        start += len(one.emitted)
    confidences, verdicts = zip(*judged) if judged else ((), ())
    return Run(len(course.tokens), len(rounds), sum(len(r.drafted) for r in rounds),
               sum(r.accepted for r in rounds), tuple(rounds), confidences, verdicts)


def _round(course, world, policy, start, rounds, rng):
    context, at_most = course.contexts[start], len(course.tokens) - start - 1
    past, place = Past(rounds, context), course.places[start]
    drafted, rows, accepted, on_course = (), (), 0, True
    while len(drafted) < at_most and policy.draft_more(past, drafted, rows):
        if on_course:
            token, on_course = course.drafts[start + accepted], course.kept[start + accepted]
            accepted += on_course
        else:
            token = bisect_right(place.q_edges, rng.random())
        drafted, rows = (*drafted, token), (*rows, place.q)
        place = course.places[start + accepted] if on_course else world.at(context + drafted)
    emitted = course.tokens[start:start + accepted + 1]
    return Round(drafted, accepted, emitted, "bonus" if accepted == len(drafted) else "correction")


@lru_cache(maxsize=256)
def course_of(world, n_tokens=TOKENS, seed=0):
    """The course of one seed; remembered."""
    return lay_course(world, n_tokens, np.random.default_rng(seed))


@lru_cache(maxsize=4096)
def play(world, policy, n_tokens=TOKENS, seed=0):
    """Run one policy over the course of one seed. Returns a :class:`Run`; remembered.

    >>> run = play(iid_world(0.8), drafting.Fixed(4), n_tokens=2000)
    >>> 3.2 < run.tokens / run.passes < 3.5
    True
    """
    return run_over(course_of(world, n_tokens, seed), world, policy, np.random.default_rng([seed, 1]))


# -- the race ---------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Interval:
    """A mean over seeds and where it may lie (Student's t)."""

    mean: float
    low: float
    high: float


def interval(values, confidence=0.95):
    """Mean and interval of one number per seed. ValueError for fewer than two.

    >>> one = interval([1.0, 2.0, 3.0])
    >>> one.mean, round(one.high - one.mean, 3)  # 4.303 / sqrt(3)
    (2.0, 2.484)
    """
    values = _checks.numbers("values", values)
    if values.ndim != 1 or values.size < 2:
        raise ValueError(f"values must be at least two numbers, got shape {values.shape}")
    half = float(stats.t.ppf((1 + confidence) / 2, values.size - 1) * values.std(ddof=1) / values.size ** 0.5)
    mean = float(values.mean())
    return Interval(mean, mean - half, mean + half)


@dataclass(frozen=True)
class Result:
    """How one policy fared: its speedup on each course, and means per pass."""

    name: str
    speedups: tuple
    tokens_per_pass: float
    drafted_per_pass: float
    wasted_per_pass: float

    @property
    def speedup(self):
        """Mean speedup over the courses, an :class:`Interval`."""
        return interval(self.speedups)

    def share_of(self, other):
        """This speedup in terms of another's on the same courses, an :class:`Interval` of the ratio."""
        return interval(np.divide(self.speedups, other.speedups))


def race(world, policies, c, seeds=RACE_SEEDS, n_tokens=TOKENS):
    """Run each policy over the course of every seed. Returns a list of :class:`Result`, in the same order.

    ``policies``: dict from names to policies (or draft lengths); ``c``: cost of a draft step in target steps.

    >>> result = race(iid_world(0.8), {"four": 4}, c=0.1)[0]
    >>> result.speedup.low < 2.40 < result.speedup.high
    True
    """
    c = _checks.single("c", _checks.non_negative, c)
    if not isinstance(policies, dict) or not policies:
        raise ValueError(f"policies must map names to policies, got {_checks.short(policies)}")
    return [_result(name, [play(world, drafting.as_policy(policy), n_tokens, seed) for seed in seeds], c)
            for name, policy in policies.items()]


def _result(name, runs, c):
    passes, tokens, drafted, accepted = (
        sum(getattr(run, what) for run in runs) for what in ("passes", "tokens", "drafted", "accepted"))
    return Result(name, tuple(run.speedup(c) for run in runs), tokens / passes, drafted / passes,
                  (drafted - accepted) / passes)


def clairvoyant_speedup(a, c):
    """Speedup of one who knows every verdict beforehand and drafts only what will be kept: 1 / (1 − a + c a).

    Of the tokens of a text the share ``a`` is drafted at the price c, and the rest takes a pass each. Nobody
    can do better while c < 1. ``a``: the mean of Σ min(p, q) over the text.

    Source: Leviathan et al., section 3.5 (an oracle for γ, whose E is 1/(1 − α)).

    >>> round(clairvoyant_speedup(0.8, 0.1), 2)
    3.57
    """
    a, c = _checks.single("a", _checks.probability, a), _checks.single("c", _checks.non_negative, c)
    if a == 1 and c == 0:
        raise ValueError("a must be below 1 where c is 0: a free, faultless draft has no finite speedup")
    return 1 / (1 - a + min(c, 1) * a)


def clairvoyant(world, c, seeds=RACE_SEEDS, n_tokens=TOKENS):
    """The same on the very courses of the race, a :class:`Result`: no policy beats it on any of them."""
    courses = [course_of(world, n_tokens, seed) for seed in seeds]
    kept = sum(sum(course.kept) for course in courses)
    passes = len(courses) * n_tokens - kept
    return Result("clairvoyant", tuple(clairvoyant_speedup(np.mean(course.kept), c) for course in courses),
                  len(courses) * n_tokens / passes, kept / passes, 0.0)


def mean_acceptance(world, seeds=RACE_SEEDS, n_tokens=TOKENS):
    """The mean of Σ min(p, q) over the courses of these seeds.

    >>> round(mean_acceptance(iid_world(0.8)), 12)
    0.8
    """
    courses = [course_of(world, n_tokens, seed) for seed in seeds]
    return float(np.mean([place.chance for course in courses for place in course.places]))


# -- choosing the parameters, on texts that the race does not use ------------------------------------

def mean_speedup(world, policy, c, seeds=TRAINING_SEEDS):
    """Mean speedup of one policy over some seeds."""
    return float(np.mean([play(world, policy, TOKENS, seed).speedup(c) for seed in seeds]))


def best_of(world, candidates, c):
    """The candidate with the largest mean speedup on the training texts; the first of them on a tie.

    >>> best_of(iid_world(0.3), [drafting.Fixed(k) for k in (1, 8)], c=0.1)
    Fixed(k=1)
    """
    return max(candidates, key=lambda policy: mean_speedup(world, policy, c))


def pay_its_way(world, policy_at, c, rounds=4):
    """Find the price that pays: start with c · 1, measure the speedup S, take c · S, and again.

    ``policy_at`` makes a policy from a price. Returns the policy at the last price.
    """
    speedup = 1.0
    for _ in range(_checks.single_count("rounds", rounds, at_least=1)):
        speedup = mean_speedup(world, policy_at(c * speedup), c)
    return policy_at(c * speedup)


@dataclass(frozen=True)
class LocalPrice:
    """A price that depends on the chance of acceptance at the place: ``prices[i]`` between two ``edges``."""

    chance: Callable
    edges: tuple
    prices: tuple

    def __call__(self, context):
        return self.prices[bisect_right(self.edges, self.chance(context))]


def local_oracle(world, c, rounds=2, bands=8):
    """The oracle that prices its time by the pace where it stands, learnt on the training courses.

    A kept draft saves the time in which the loop would have made the token behind it. That time is measured:
    the time to go from each position of a course, by rounds that start there; what one position more saves,
    averaged over the places with about the same chance, is the worth of a token there, and c over it the
    price.
    """
    oracle = pay_its_way(world, lambda price: drafting.Oracle(world.chance, price), c)
    courses = [course_of(world, TOKENS, seed) for seed in TRAINING_SEEDS]
    places = [place.chance for course in courses for place in course.places]
    cuts = np.quantile(places, np.arange(1, bands) / bands, method="higher")
    edges = tuple(np.unique(cuts[cuts > min(places)]).tolist())
    for _ in range(rounds):
        saved, seen = np.zeros(len(edges) + 1), np.zeros(len(edges) + 1)
        for course in courses:
            to_go = _time_to_go(course, world, oracle, c)
            for t in range(len(to_go) - 4 * drafting.LONGEST):  # the end, where drafts are cut short, apart
                if course.kept[t]:
                    band = bisect_right(edges, course.places[t].chance)
                    saved[band] += to_go[t + 1] - to_go[t + 2]
                    seen[band] += 1
        prices = np.where(saved > 0, c * seen / np.maximum(saved, 1e-9), 1.0)
        oracle = drafting.Oracle(world.chance, LocalPrice(world.chance, edges, tuple(prices.tolist())))
    return oracle


def _time_to_go(course, world, policy, c):
    """For each position the plain steps from a round that starts there to the end of the course."""
    rng, to_go = np.random.default_rng(0), [0.0] * (len(course.tokens) + 1)
    for start in reversed(range(len(course.tokens))):
        one = _round(course, world, policy, start, (), rng)
        to_go[start] = 1 + c * len(one.drafted) + to_go[start + len(one.emitted)]
    return to_go


def stored_oracle(name, c):
    """The oracle of a world of ``WORLDS`` at a draft cost of ``STORED_COSTS``, from prices found beforehand.

    What :func:`local_oracle` finds in seconds, at once. ValueError for other worlds or costs.

    >>> [round(price, 2) for price in stored_oracle("two-state", 0.1).price.prices]  # hard places, easy ones
    [0.13, 0.41]
    """
    stored = _stored_prices()
    if (name, c) not in stored:
        costs, worlds = ", ".join(map(str, STORED_COSTS)), ", ".join(WORLDS)
        raise ValueError(f"c must be one of {costs} in one of {worlds}, "
                         f"got {_checks.short(c)} in {_checks.short(name)}")
    chance = WORLDS[name]().chance
    return drafting.Oracle(chance, LocalPrice(chance, *stored[name, c]))


@lru_cache(maxsize=1)
def _stored_prices():
    text = files("specdec_lessons").joinpath("data", "oracle_prices.json").read_text(encoding="utf-8")
    return {(row["world"], row["c"]): (tuple(row["edges"]), tuple(row["prices"])) for row in json.loads(text)}


@lru_cache(maxsize=64)
def oracle_of(world, c):
    """The oracle of any world: the stored one where there is one, else :func:`local_oracle`."""
    known = world.name in WORLDS and world is WORLDS[world.name]() and c in STORED_COSTS
    return stored_oracle(world.name, c) if known else local_oracle(world, c)


@lru_cache(maxsize=64)
def learned(world, k=6):
    """What rounds of ``k`` drafts on the training texts teach: an estimate, and the mean acceptance."""
    runs = [play(world, drafting.Fixed(k), TOKENS, seed) for seed in TRAINING_SEEDS]
    confidences = sum((run.confidences for run in runs), ())
    verdicts = sum((run.verdicts for run in runs), ())
    return drafting.learn_estimate(confidences, verdicts), float(np.mean(verdicts))


@lru_cache(maxsize=64)
def field_of(world, c):
    """The policies of the race, each with its parameter chosen on the training texts: a dict by name."""
    estimate, typical = learned(world)
    lengths = [drafting.Fixed(k) for k in range(drafting.LONGEST + 1)]
    thresholds = [drafting.ConfidenceThreshold(x / 20) for x in range(0, 20)]
    return {
        "short: k = 2": drafting.Fixed(2),
        "long: k = 12": drafting.Fixed(12),
        "best fixed k": best_of(world, lengths, c),
        "+2 / −1": drafting.AdditiveSchedule(),
        "confidence": best_of(world, thresholds, c),
        "survival, raw": pay_its_way(world, lambda price: drafting.SurvivalProduct(price, typical), c),
        "survival, learned": pay_its_way(
            world, lambda price: drafting.SurvivalProduct(price, typical, estimate), c),
        "oracle": oracle_of(world, c),
    }
