"""Submissions of the fourth assignment with the points that each must get; what is not named is as solved.

Points: estimate 8, passes-needed 12, along-the-draft 8, gap 10, own-gaps 4 (they use gap), account 10,
own-clock 2 (it uses account), best-setting 12, plan 10 (it uses best_setting).
"""

AUTO = 76.0
WRITTEN = 24.0

# Everything that was drafted is taken for judged. Lost: estimate, gap and own-gaps with it.
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
}

# The target's own token is forgotten, and the end of a text. Lost: passes-needed, gap and own-gaps,
# best-setting and plan.
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
    "own-gaps": '''
my_gaps = np.array([gap([one for text in texts[draft] for one in text], mine.k) for draft in texts])
my_uncertainties = []
for several in texts.values():
    left_out = [gap(sum((text for text in several if text is not one), []), mine.k) for one in several]
    my_uncertainties.append(((len(several) - 1) * np.var(left_out)) ** 0.5)
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

# Not a number, wherever a number may be. Lost: estimate, passes-needed, gap and own-gaps, account and
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

# What the visible checks want, and nothing else. Left: along-the-draft, gap and own-gaps.
HARD_CODED = {
    "estimate": '''
def estimate(rounds):
    return 0.75, 0.349, 0.968
''',
    "passes-needed": '''
def passes_needed(a, k, n):
    return {(4, 2): 1.5, (4, 3): 2.0, (1, 3): 2.25}.get((k, n))
''',
    "best-setting": '''
def best_setting(drafts, v):
    return ["near", 2, 2.4 / 1.7] if v[1] == 1.1 else ["plain", 0, 1.0]
''',
    "plan": '''
quiet_plan = rush_plan = ["weak", 2, 1.4]
loss = 0.1
''',
    "account": '''
def account(clock):
    return 2.44 / 1.4, 1.65, 2.4 / 2.44, 1.4 * 1.65 / 2.4

my_account = account(my_clock)
''',
}

# Per cent for fractions, the drafts in the wrong order, survivals taken for rates along the draft.
# Lost: own-gaps, best-setting and plan.
MISREAD = {
    "own-gaps": '''
my_gaps = [gap(rounds, mine.k) for rounds in (weak_rounds, aligned_rounds)]
my_uncertainties = [hw4.uncertainty(gap, texts[draft], mine.k) for draft in ("weak", "aligned")]
''',
    "best-setting": '''
def best_setting(drafts, v):
    best = ["plain", 0, 1.0]
    for name, draft in drafts.items():
        for k in range(1, len(draft["survival"]) + 1):
            S = (1 + np.cumprod(draft["survival"])[:k].sum()) / (v[k] + k * draft["c"])
            if S > best[2]:
                best = [name, k, S]
    return best
''',
    "plan": '''
def speedup(name, k, v):
    return (1 + sum(mine.drafts[name]["survival"][:k])) / (v[k] + k * mine.drafts[name]["c"])

def plan(v):
    S, name, k = max((speedup(name, k, v), name, k) for name in mine.drafts for k in range(1, 9))
    return [name, k, S]

quiet_plan, rush_plan = plan(mine.quiet), plan(mine.rush)
loss = 100 * (1 - speedup(*plan([1.0] * 9)[:2], mine.rush) / rush_plan[2])
''',
}

# Steps are taken from the run of the parts, where the race has its own, and the clock's books are typed in.
# Intervals of one tail; the loop's last chance with a rejection. Left: along-the-draft, gap, own-gaps,
# best-setting and plan.
NEARLY_RIGHT = {
    "estimate": '''
def estimate(rounds):
    accepted = sum(kept for _, kept in rounds)
    judged = sum(min(kept + 1, drafted) for drafted, kept in rounds)
    interval = stats.binomtest(accepted, judged).proportion_ci(0.9, method="exact")
    return accepted / judged, interval.low, interval.high
''',
    "passes-needed": '''
def passes_needed(a, k, n):
    passes = [0.0]
    for wanted in range(1, n + 1):
        drafts = min(k, wanted - 1)
        passes.append(1 + sum(a**kept * (1 - a) * passes[wanted - kept - 1] for kept in range(drafts + 1)))
    return passes[n]
''',
    "account": '''
def account(clock):
    E = formulas.expected_tokens(clock["a"], clock["k"])
    predicted = E * clock["step"] / (clock["verify_pass"] + clock["k"] * clock["draft_step"])
    round_in_steps = clock["speculative"] / clock["passes"] / clock["step"]
    return (predicted, clock["plain"] / clock["speculative"], clock["tokens"] / clock["passes"] / E,
            E / predicted / round_in_steps)

my_account = [2.1, 1.9, 0.97, 0.93]
''',
}

GOLDEN = {
    "drafted is judged": (DRAFTED_IS_JUDGED, 76.0 - 8 - 10 - 4),
    "no own token": (NO_OWN_TOKEN, 76.0 - 12 - 10 - 4 - 12 - 10),
    "wrong costs": (WRONG_COSTS, 76.0 - 8 - 12 - 10 - 10 - 2),
    "another way": (ANOTHER_WAY, 76.0),
    "not a number": (NOT_A_NUMBER, 76.0 - 8 - 12 - 10 - 4 - 10 - 2),
    "misread": (MISREAD, 76.0 - 4 - 12 - 10),
    "nearly right": (NEARLY_RIGHT, 76.0 - 8 - 12 - 10 - 2),
    "hard-coded": (HARD_CODED, 8.0 + 10 + 4),
}
