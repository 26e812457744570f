"""What a run, an engine's counters or an exact enumeration say about speculative decoding.

A draft is *judged* when the target reached it: the accepted ones and the first rejected one of each
round. What was drafted behind a rejection is *discarded*, never judged. Only accepted / judged
estimates the acceptance rate a.
"""

import sys
from collections import Counter
from typing import NamedTuple

import numpy as np
from scipy import stats
from tqdm import tqdm

from specdec_lessons import _checks
from specdec_lessons.decoding import Trace, decode, token_at, verify, with_temperature
from specdec_lessons.formulas import acceptance_for_tokens
from specdec_lessons.models import as_tokens, require_model


# -- how often drafts are accepted ------------------------------------------------------------------

class Estimate(NamedTuple):
    """An estimated acceptance rate with its interval and the counts behind it."""

    a: float
    low: float
    high: float
    accepted: int
    judged: int


def acceptance_estimate(trace, confidence=0.95):
    """Estimate a by accepted / judged, with an exact (Clopper–Pearson) interval.

    ``trace``: a ``Trace`` or several of them. ``confidence`` in (0, 1). The interval treats verdicts
    as independent. ValueError if no draft was judged. Returns an :class:`Estimate`.

    >>> from specdec_lessons.decoding import Round
    >>> rounds = (Round((1, 2, 3), 1, (1, 5), "correction"), Round((1, 2), 2, (1, 2, 3), "bonus"))
    >>> acceptance_estimate(Trace(rounds))[:1], acceptance_estimate(Trace(rounds))[3:]
    ((0.75,), (3, 4))
    """
    confidence = _checks.single("confidence", _checks.probability, confidence)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie strictly between 0 and 1, got {confidence:g}")
    try:
        rounds = [r for one in ([trace] if isinstance(trace, Trace) else trace) for r in one.rounds]
    except (TypeError, AttributeError):
        raise ValueError(f"trace must be a Trace or several of them, got {_checks.short(trace)}") from None
    accepted = sum(r.accepted for r in rounds)
    judged = accepted + sum(r.last == "correction" for r in rounds)
    if judged == 0:
        raise ValueError("trace must hold at least one judged draft, got none")
    interval = stats.binomtest(accepted, judged).proportion_ci(confidence, method="exact")
    return Estimate(accepted / judged, float(interval.low), float(interval.high), accepted, judged)


class Counters(NamedTuple):
    """What an engine's counters mean."""

    a: float
    tokens_per_pass: float
    per_draft_rate: float


def from_counters(drafted, accepted, passes, k):
    """Read an engine's totals: drafted and accepted tokens, verify passes, draft length k ≥ 1.

    tokens per pass = (accepted + passes) / passes, since each pass adds one token of its own; the
    per-draft rate = accepted / drafted, which counts discarded drafts as failures and so is below a;
    ``a`` is the rate at which the i.i.d. model yields these tokens per pass. Returns
    :class:`Counters`; ValueError for counts that cannot be.

    >>> counters = from_counters(drafted=260, accepted=208, passes=52, k=5)
    >>> counters.tokens_per_pass, counters.per_draft_rate, round(counters.a, 3)
    (5.0, 0.8, 0.927)
    """
    drafted, accepted = _checks.single_count("drafted", drafted), _checks.single_count("accepted", accepted)
    passes, k = _checks.single_count("passes", passes, at_least=1), _checks.single_count("k", k, at_least=1)
    if not 1 <= drafted <= passes * k:
        raise ValueError(f"drafted must lie between 1 and passes * k = {passes * k}, got {drafted}")
    if accepted > drafted:
        raise ValueError(f"accepted must be at most drafted = {drafted}, got {accepted}")
    tokens = (accepted + passes) / passes
    return Counters(acceptance_for_tokens(tokens, k), tokens, accepted / drafted)


def simulate_rounds(a, k, n_rounds, rng):
    """Tokens per pass of ``n_rounds`` simulated rounds: coins that come up 'accept' with chance a.

    ``a``: one rate, or one for each round, shape (n_rounds,). Returns ints from 1 to k + 1, shape
    (n_rounds,). One array operation a position, so a million rounds take a fraction of a second.

    >>> tokens = simulate_rounds(0.8, 4, 100_000, np.random.default_rng(0))
    >>> round(float(tokens.mean()), 1)
    3.4
    """
    a = _checks.probability("a", a)
    k, n_rounds = _checks.single_count("k", k), _checks.single_count("n_rounds", n_rounds)
    if a.shape not in ((), (n_rounds,)):
        raise ValueError(f"a must be one rate or n_rounds = {n_rounds} of them, got shape {a.shape}")
    rng = _checks.generator(rng)
    alive = np.ones(n_rounds, dtype=bool)
    tokens = np.ones(n_rounds, dtype=np.int64)
    for _ in range(k):
        alive &= rng.random(n_rounds) < a
        tokens += alive
    return tokens


class Totals(NamedTuple):
    """How many rounds yielded 1, 2, …, k + 1 tokens, and what follows from that."""

    counts: tuple

    @property
    def rounds(self):
        """How many rounds there were."""
        return sum(self.counts)

    @property
    def mean(self):
        """Tokens per pass."""
        return sum(n * count for n, count in enumerate(self.counts, start=1)) / self.rounds

    @property
    def standard_error(self):
        """Of the mean: the spread of a round over the root of their number."""
        mean = self.mean
        variance = sum((n - mean) ** 2 * count for n, count in enumerate(self.counts, start=1)) / self.rounds
        return (variance / self.rounds) ** 0.5


def simulate_totals(a, k, n_rounds, rng, progress=False, chunk=2**16):
    """Simulate any number of rounds in constant memory -> :class:`Totals`.

    As :func:`simulate_rounds`, but rounds are tossed ``chunk`` at a time and only counted: per chunk one
    array of coins for each position, as long as the rounds that are still alive there. The cost of a round does
    not depend on how many there are. ``a``: one rate, or one for each position, shape (k,). ``progress=True``
    shows a bar (on standard output).

    >>> totals = simulate_totals(0.8, 4, 1_000_000, np.random.default_rng(0))
    >>> totals.rounds, round(totals.mean, 2), round(totals.standard_error, 4)
    (1000000, 3.36, 0.0016)
    """
    k, n_rounds = _checks.single_count("k", k), _checks.single_count("n_rounds", n_rounds, at_least=1)
    chunk = _checks.single_count("chunk", chunk, at_least=1)
    a = _checks.probability("a", a)
    if a.shape not in ((), (k,)):
        raise ValueError(f"a must be one rate or k = {k} of them, got shape {a.shape}")
    rng, rates = _checks.generator(rng), np.broadcast_to(a, k).tolist()
    counts = [0] * (k + 1)
    bar = tqdm(total=n_rounds, unit=" rounds", unit_scale=True, mininterval=0.5, ascii=" #", file=sys.stdout,
               disable=not progress)
    with bar:
        for start in range(0, n_rounds, chunk):
            alive = size = min(chunk, n_rounds - start)
            for position, rate in enumerate(rates):
                survivors = int(np.count_nonzero(rng.random(alive) < rate))
                counts[position] += alive - survivors
                alive = survivors
            counts[k] += alive
            bar.update(size)
    return Totals(tuple(counts))


def rates_called_acceptance(tokens_per_round, k):
    """What a run shows of the quantities that are all called 'the acceptance rate'.

    ``tokens_per_round``: ints from 1 to k + 1, one a round (as :func:`simulate_rounds` gives them), each
    of k ≥ 1 drafts. Returns a dict of five plain floats: accepted / drafted, accepted / judged, tokens
    per pass, accepted per pass, and survival at position k, the share of rounds whose first k drafts
    were all accepted. Only accepted / judged estimates a, the coin's own rate, which no run shows.
    ValueError for counts that cannot be.

    >>> rates = rates_called_acceptance([3, 1, 2, 3], k=2)
    >>> rates["accepted / drafted"], rates["tokens per pass"], rates["survival at position 2"]
    (0.625, 2.25, 0.5)
    """
    k = _checks.single_count("k", k, at_least=1)
    tokens = _checks.count("tokens_per_round", tokens_per_round, at_least=1)
    if tokens.ndim != 1 or not tokens.size or tokens.max() > k + 1:
        raise ValueError(f"tokens_per_round must hold numbers from 1 to k + 1 = {k + 1}, one a round, "
                         f"got {_checks.short(tokens_per_round)}")
    accepted = tokens - 1
    judged = np.minimum(tokens, k)
    rates = {
        "accepted / drafted": accepted.mean() / k,
        "accepted / judged": accepted.sum() / judged.sum(),
        "tokens per pass": tokens.mean(),
        "accepted per pass": accepted.mean(),
        f"survival at position {k}": (accepted == k).mean(),
    }
    return {name: float(rate) for name, rate in rates.items()}


# -- exactness by enumeration -----------------------------------------------------------------------

class _Uniform:
    """A number from [0, 1) that is not drawn: each comparison splits the interval it still lies in."""

    def __init__(self, choices):
        self._low, self._high, self._choices = 0.0, 1.0, choices

    def __lt__(self, edge):
        edge = float(edge)
        if edge <= self._low:
            return False
        if edge >= self._high:
            return True
        below = self._choices.decide((edge - self._low) / (self._high - self._low))
        self._low, self._high = (self._low, edge) if below else (edge, self._high)
        return below

    def __ge__(self, edge):
        return not self < edge

    __le__, __gt__ = __lt__, __ge__  # equality has probability 0


class _Choices:
    """Stands in for a ``Generator`` and steers a decoder down every path it can take, one a run."""

    def __init__(self):
        self._script = []
        self._position, self.probability = 0, 1.0

    def random(self, size=None):
        if size is not None:
            raise ValueError(f"rng.random must be asked for one number at a time here, got size {size!r}")
        return _Uniform(self)

    def decide(self, chance):
        if self._position == len(self._script):
            self._script.append(True)
        outcome = self._script[self._position]
        self._position += 1
        self.probability *= chance if outcome else 1.0 - chance
        return outcome

    def next_path(self):
        """Turn to the next path; False when all have been taken."""
        while self._script and not self._script[-1]:
            self._script.pop()
        if not self._script:
            return False
        self._script[-1] = False
        self._position, self.probability = 0, 1.0
        return True


def sequence_law(decoder, *args, **kwargs):
    """Exact probability of every output sequence of a decoder, by taking every path through its code.

    ``decoder`` is called as ``decoder(*args, rng=…, **kwargs)`` (or ``decoder(rng)`` when nothing else
    is given) and returns a ``Trace`` or a sequence of tokens. It runs once for each way its uniform
    numbers can fall; they must come from ``rng.random()``, one at a time, and only be compared, as
    ``decode`` and ``speculative_decode`` do. Returns a dict from token tuples to probabilities. The
    work grows with the number of paths: keep V, k and the length small.

    >>> from specdec_lessons.models import TableModel
    >>> coin = TableModel(["h", "t"], [0.5, 0.5])
    >>> sequence_law(decode, coin, [], 2)[(0, 1)]
    0.25
    """
    if not callable(decoder):
        raise ValueError(f"decoder must be a function such as decode or speculative_decode, got {decoder!r}")
    law, choices, unfinished = Counter(), _Choices(), True
    while unfinished:
        result = decoder(*args, rng=choices, **kwargs) if args or kwargs else decoder(choices)
        law[tuple(getattr(result, "tokens", result))] += choices.probability
        unfinished = choices.next_path()
    return dict(law)


def chain_rule_law(model, prompt, n_tokens, temperature=1.0):
    """Exact law of the model's own texts by the chain rule, Π p(next | so far): what decoders must match.

    Independent of ``decoding``'s loops. Returns a dict from token tuples to probabilities, without
    the impossible ones.

    >>> from specdec_lessons.models import TableModel
    >>> chain_rule_law(TableModel(["h", "t"], [0.25, 0.75]), [], 1)
    {(0,): 0.25, (1,): 0.75}
    """
    prompt = as_tokens(require_model("model", model), "prompt", prompt)
    law = {(): 1.0}
    for _ in range(_checks.single_count("n_tokens", n_tokens)):
        law = {
            (*tokens, token): probability * chance
            for tokens, probability in law.items()
            for token, chance in enumerate(
                with_temperature(model.next_probs((*prompt, *tokens)), temperature).tolist())
            if chance > 0
        }
    return law


def rule_law(p, q, rule=verify):
    """Exact law of the first token that comes out when a draft from q is judged by a rule.

    ``rule``: ``decoding.verify`` or one of ``wrong_rules``. Returns shape (V,).

    >>> rule_law([0.6, 0.4], [0.8, 0.2]).round(6)
    array([0.6, 0.4])
    """
    p, q = _checks.pair(p, q)
    if not callable(rule):
        raise ValueError(f"rule must be decoding.verify or one of wrong_rules, got {_checks.short(rule)}")

    def one_round(rng):
        drafted = (token_at(rng.random(), q),)
        return rule(drafted, (q,), (p, p), rng)[1][:1]

    law = sequence_law(one_round)
    return np.array([law.get((token,), 0.0) for token in range(p.size)])


# -- exactness by a test ----------------------------------------------------------------------------

class ChiSquare(NamedTuple):
    """A chi-square test: statistic, degrees of freedom, p-value, number of observations."""

    statistic: float
    dof: int
    p_value: float
    n: int


def joint_chi_square(observed, law, least_expected=10.0):
    """Test whether observed token tuples follow an exact joint law.

    ``observed``: a sequence of equally long token tuples, or a ``Counter`` of them; ``law``: a dict from
    tuples to probabilities, as :func:`sequence_law` and :func:`chain_rule_law` give. Cells expected fewer than
    ``least_expected`` times are pooled into one. An observation that the law rules out gives p-value 0.

    >>> fair = {(0,): 0.5, (1,): 0.5}
    >>> joint_chi_square(Counter({(0,): 50, (1,): 50}), fair).p_value
    1.0
    >>> joint_chi_square(Counter({(0,): 99, (1,): 1}), fair).p_value < 1e-9
    True
    """
    try:
        counts = observed if isinstance(observed, Counter) else Counter(tuple(tokens) for tokens in observed)
    except TypeError:
        raise ValueError(f"observed must hold tuples of tokens, got {_checks.short(observed)}") from None
    least_expected = _checks.single("least_expected", _checks.non_negative, least_expected)
    if not isinstance(law, dict):
        raise ValueError(f"law must be a dict from tuples to probabilities, got {_checks.short(law)}")
    n = sum(counts.values())
    if n == 0:
        raise ValueError("observed must hold at least one observation, got none")
    if not abs(sum(law.values()) - 1) <= 1e-9:
        raise ValueError(f"law must sum to 1, got a sum of {sum(law.values()):g}")
    impossible = sum(seen for tokens, seen in counts.items() if law.get(tokens, 0.0) <= 0)
    if impossible:
        return ChiSquare(float("inf"), 0, 0.0, n)
    cells = [(counts.get(tokens, 0), n * chance) for tokens, chance in law.items() if chance > 0]
    large = [cell for cell in cells if cell[1] >= least_expected]
    small = [cell for cell in cells if cell[1] < least_expected]
    if small:
        large.append(tuple(map(sum, zip(*small))))
    seen, expected = np.array(large, dtype=float).T
    statistic = float(((seen - expected) ** 2 / expected).sum())
    dof = len(large) - 1
    p_value = float(stats.chi2.sf(statistic, dof)) if dof else 1.0
    return ChiSquare(statistic, dof, p_value, n)
