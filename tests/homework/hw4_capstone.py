"""Submissions of the fourth assignment with the points that each must get; what is not named is as solved.

Points: estimate 8, passes-needed 14, along-the-draft 8, gap 8, uncertainty 6 (it uses gap), read-day 12,
best-setting 10, plan 6 (it uses best_setting), account 6, own-clock 2 (it uses account).
"""

AUTO = 80.0
WRITTEN = 20.0

# Everything that was drafted is taken for judged. Lost: estimate, gap and uncertainty with it, read-day.
DRAFTED_IS_JUDGED = {
    "estimate": '''
def estimate(rounds):
    accepted = sum(kept for _, kept in rounds)
    drafted = sum(drafted for drafted, _ in rounds)
    interval = stats.binomtest(accepted, drafted).proportion_ci(0.95, method="exact")
    return accepted / drafted, interval.low, interval.high
''',
    "gap": '''
def gap(rounds, k):
    kept = [accepted for drafted, accepted in rounds if drafted == k]
    a = sum(kept) / (k * len(kept))
    return (1 + sum(kept) / len(kept)) / formulas.expected_tokens(a, k) - 1
''',
    "read-day": '''
def read_day(hours):
    accepted = sum(hour["accepted"] for hour in hours)
    drafted = sum(hour["k"] * hour["with_draft"] for hour in hours)
    passes = sum(hour["passes"] for hour in hours)
    return accepted / drafted, (accepted + passes) / passes, accepted / drafted
''',
}

# The target's own token is forgotten, and the end of a text. Lost: passes-needed, gap and uncertainty,
# read-day, best-setting and plan.
NO_OWN_TOKEN = {
    "passes-needed": '''
def passes_needed(a, k, n):
    return n / formulas.expected_tokens(a, k)
''',
    "gap": '''
def gap(rounds, k):
    kept = [accepted for drafted, accepted in rounds if drafted == k]
    a = sum(kept) / sum(n + (n < k) for n in kept)
    return (sum(kept) / len(kept)) / formulas.expected_tokens(a, k) - 1
''',
    "read-day": '''
def read_day(hours):
    accepted = sum(hour["accepted"] for hour in hours)
    drafted = sum(hour["k"] * hour["with_draft"] for hour in hours)
    passes = sum(hour["with_draft"] for hour in hours)

    def surplus(a):
        kept = [hour["with_draft"] * (formulas.expected_tokens(a, hour["k"]) - 1) for hour in hours]
        return sum(kept) - accepted

    return accepted / drafted, accepted / passes, optimize.brentq(surplus, 0, 1)
''',
    "best-setting": '''
def best_setting(drafts, v):
    best = ["plain", 0, 1.0]
    for name, draft in drafts.items():
        for k in range(1, len(draft["survival"]) + 1):
            S = sum(draft["survival"][:k]) / (v[k] + k * draft["c"])
            if S > best[2]:
                best = [name, k, S]
    return best
''',
}

# Costs are put together wrongly: v one place too early, c paid once; rates along the draft over all rounds.
# Lost: along-the-draft, best-setting and plan, account and own-clock.
WRONG_COSTS = {
    "along-the-draft": '''
def along_the_draft(rounds, k):
    kept = [accepted for drafted, accepted in rounds if drafted == k]
    return [sum(n > i for n in kept) / len(kept) for i in range(k)]
''',
    "best-setting": '''
def best_setting(drafts, v):
    best = ["plain", 0, 1.0]
    for name, draft in drafts.items():
        for k in range(1, len(draft["survival"]) + 1):
            S = (1 + sum(draft["survival"][:k])) / (v[k - 1] + k * draft["c"])
            if S > best[2]:
                best = [name, k, S]
    return best
''',
    "account": '''
def account(clock):
    k, c, v = clock["k"], clock["draft_step"] / clock["step"], clock["verify_pass"] / clock["step"]
    promised = formulas.expected_tokens(clock["a"], k)
    measured = clock["plain"] / clock["speculative"]
    counted = clock["tokens"] / clock["passes"]
    return promised / (v + c), measured, counted / promised, (v + c) / (counted / measured)

my_account = account(my_clock)
''',
}

# Right in every way, and written otherwise: arrays, recursion, bisection, the beta law.
ANOTHER_WAY = {
    "estimate": '''
def estimate(rounds):
    drafted, accepted = np.array(rounds).T
    n, m = accepted.sum(), np.minimum(drafted, accepted + 1).sum()
    low = stats.beta.ppf(0.025, n, m - n + 1) if n else 0.0
    high = stats.beta.ppf(0.975, n + 1, m - n) if n < m else 1.0
    return np.array([n / m, low, high])
''',
    "passes-needed": '''
from functools import lru_cache

def passes_needed(a, k, n):
    @lru_cache(None)
    def needed(wanted):
        return 0.0 if wanted == 0 else 1.0 + judged(wanted, min(k, wanted - 1))

    @lru_cache(None)
    def judged(wanted, left):  # wanted tokens and left drafts of this round are still to come
        if left == 0:
            return needed(wanted - 1)
        return a * judged(wanted - 1, left - 1) + (1 - a) * needed(wanted - 1)

    for wanted in range(n):
        needed(wanted)
    return needed(n)
''',
    "along-the-draft": '''
def along_the_draft(rounds, k):
    rounds = np.array(rounds)
    kept = rounds[rounds[:, 0] == k, 1]
    reached = (kept[:, None] >= np.arange(k + 1)).sum(axis=0)
    return reached[1:] / reached[:-1]
''',
    "gap": '''
def gap(rounds, k):
    full = np.array([kept for drafted, kept in rounds if drafted == k])
    judged = sum(min(int(kept) + 1, k) for kept in full)
    a = full.sum() / judged
    promised = sum(a**i for i in range(k + 1))
    return np.float64(full.mean() + 1) / promised - 1
''',
    "uncertainty": '''
def uncertainty(texts, k):
    gaps = []
    for left_out in range(len(texts)):
        gaps.append(gap([one for j, text in enumerate(texts) if j != left_out for one in text], k))
    return ((len(gaps) - 1) * np.var(gaps)) ** 0.5

my_gaps = tuple(gap([one for text in texts[draft] for one in text], mine.k) for draft in texts)
my_uncertainties = np.array([uncertainty(several, mine.k) for several in texts.values()]).tolist()
''',
    "read-day": '''
def read_day(hours):
    keys = "k", "passes", "with_draft", "accepted"
    k, passes, with_draft, accepted = np.array([[hour[key] for key in keys] for hour in hours]).T
    low, high = 0.0, 1.0
    for _ in range(60):
        a = (low + high) / 2
        expected = sum(n * (a**np.arange(1, length + 1)).sum() for n, length in zip(with_draft, k))
        low, high = (a, high) if expected < accepted.sum() else (low, a)
    return [accepted.sum() / (k * with_draft).sum(), 1 + accepted.sum() / passes.sum(), low]
''',
    "best-setting": '''
def best_setting(drafts, v):
    found = {("plain", 0): 1.0}
    for name in drafts:
        tokens = 1 + np.cumsum(drafts[name]["survival"])
        k = np.arange(1, len(tokens) + 1)
        found |= {(name, int(i)): S for i, S in zip(k, tokens / (np.array(v)[k] + k * drafts[name]["c"]))}
    best = max(found, key=found.get)
    return (*best, found[best])
''',
    "account": '''
def account(clock):
    E = sum(clock["a"]**i for i in range(clock["k"] + 1))
    predicted = E * clock["step"] / (clock["verify_pass"] + clock["k"] * clock["draft_step"])
    measured = clock["plain"] / clock["speculative"]
    tokens = clock["tokens"] / clock["passes"] / E
    return [predicted, measured, tokens, measured / predicted / tokens]

my_account = account(my_clock)
''',
}

# Not a number, wherever a number may be. Lost: estimate, passes-needed, gap and uncertainty, account and
# own-clock.
NOT_A_NUMBER = {
    "estimate": '''
def estimate(rounds):
    return [float("nan")] * 3
''',
    "passes-needed": '''
def passes_needed(a, k, n):
    return float("nan")
''',
    "gap": '''
def gap(rounds, k):
    return float("nan")
''',
    "account": '''
def account(clock):
    return np.full(4, np.nan)

my_account = account(my_clock).tolist()
''',
}

# What the visible checks want, and nothing else. Left: along-the-draft, gap and uncertainty.
HARD_CODED = {
    "estimate": '''
def estimate(rounds):
    return 0.75, 0.349, 0.968
''',
    "passes-needed": '''
def passes_needed(a, k, n):
    return {2: 1.5, 3: 2.0}.get(n)
''',
    "read-day": '''
def read_day(hours):
    return 125 / 300, 1.5, 0.5
''',
    "best-setting": '''
def best_setting(drafts, v):
    return ["near", 1, 1.8 / 1.35]
''',
    "plan": '''
quiet_plan = rush_plan = ["near", 1, 1.8 / 1.35]
loss = 0.1
''',
    "account": '''
def account(clock):
    return 2.44 / 1.4, 1.5, 2.4 / 2.44, 1.4 / 1.6

my_account = account(my_clock)
''',
}

GOLDEN = {
    "drafted is judged": (DRAFTED_IS_JUDGED, 80.0 - 8 - 8 - 6 - 12),
    "no own token": (NO_OWN_TOKEN, 80.0 - 14 - 8 - 6 - 12 - 10 - 6),
    "wrong costs": (WRONG_COSTS, 80.0 - 8 - 10 - 6 - 6 - 2),
    "another way": (ANOTHER_WAY, 80.0),
    "not a number": (NOT_A_NUMBER, 80.0 - 8 - 14 - 8 - 6 - 6 - 2),
    "hard-coded": (HARD_CODED, 8.0 + 8 + 6),
}
