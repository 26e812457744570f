"""Submissions of the second assignment, and the points that the tests must give them."""

AUTO = 78
WRITTEN = 22

_LAW_WITHOUT_BONUS = '''
def law_by_place(rates):
    reached, law = 1.0, []
    for rate in rates:
        law.append(reached * (1 - rate))
        reached *= rate
    return law
'''
_MEAN_FOR_CHANCE = '''
def chance_in_time(rates, passes, tokens):
    return float(passes * (1 + np.cumprod(rates).sum()) >= tokens)
'''
_ONE_RATE = '''
def rates_by_place(log):
    accepted = sum(a for _, a in log)
    judged = accepted + sum(a < d for d, a in log)
    return [accepted / judged] * max(d for d, _ in log)
'''
_PASS_OVER_K = '''
def best_setting(rates, draft_ms, pass_ms, longest_ms):
    best = (0, 1.0)
    for k in range(1, len(rates) + 1):
        round_ms = k * draft_ms + pass_ms[k - 1]
        speedup = (1 + np.cumprod(rates[:k]).sum()) * pass_ms[0] / round_ms
        if round_ms <= longest_ms and speedup > best[1]:
            best = (k, float(speedup))
    return best
'''
_SMALL_ONES_K = '''
def tie_price(a_small, c_small, a_big):
    k = formulas.best_draft_length(a_small, c_small, k_max=32)
    return (formulas.expected_tokens(a_big, k) / formulas.speedup(a_small, k, c_small) - 1) / k
'''
_AVERAGE = '''
def mixed_speedup(k, c, traffic):
    return sum(share * formulas.speedup(a, k, c) for share, a in traffic)
'''
_NOT_A_NUMBER = '''
def tie_price(a_small, c_small, a_big):
    return float("nan")
'''
_TIME_FOR_SPEEDUP = '''
def mixed_speedup(k, c, traffic):
    return sum(share / formulas.speedup(a, k, c) for share, a in traffic)
'''
_BELOW_THE_LIMIT = '''
def best_setting(rates, draft_ms, pass_ms, longest_ms):
    best = (0, 1.0)
    for k in range(1, len(rates) + 1):
        round_ms = k * draft_ms + pass_ms[k]
        speedup = (1 + np.cumprod(rates[:k]).sum()) * pass_ms[0] / round_ms
        if round_ms < longest_ms and speedup > best[1]:
            best = (k, float(speedup))
    return best
'''
_VISIBLE_VALUE = '''
def best_setting(rates, draft_ms, pass_ms, longest_ms):
    return (1, 1.5) if longest_ms == 24 else (2, 2.2 * 20 / 28)
'''

_OTHER_LAW = '''
def law_by_place(rates):
    if len(rates) == 0:
        return np.ones(1)
    first, *rest = rates
    return np.concatenate([[1 - first], first * np.asarray(law_by_place(rest))])
'''
_OTHER_CHANCE = '''
from functools import cache

def chance_in_time(rates, passes, tokens):
    law = [float(chance) for chance in law_by_place(list(rates))]

    @cache
    def at_least(passes, tokens):
        if tokens <= passes:
            return 1.0
        if passes == 0:
            return 0.0
        return sum(chance * at_least(passes - 1, tokens - n) for n, chance in enumerate(law, start=1))

    return at_least(passes, tokens)
'''
_OTHER_RATES = '''
def rates_by_place(log):
    drafted, accepted = np.array(log)[:, 0, None], np.array(log)[:, 1, None]
    place = np.arange(1, drafted.max() + 1)
    kept = accepted >= place
    rejected = (accepted == place - 1) & (drafted >= place)
    return kept.sum(axis=0) / (kept.sum(axis=0) + rejected.sum(axis=0))
'''
_OTHER_SETTING = '''
def best_setting(rates, draft_ms, pass_ms, longest_ms):
    k = np.arange(len(rates) + 1)
    round_ms = k * draft_ms + np.array(pass_ms)
    speedup = np.cumsum(np.append(1.0, np.cumprod(rates))) / (round_ms / pass_ms[0])
    speedup[(round_ms > longest_ms) & (k > 0)] = 0.0
    return [int(speedup.argmax()), speedup.max()]
'''
_OTHER_TIE = '''
from scipy.optimize import brentq

def tie_price(a_small, c_small, a_big):
    def fastest(a, c):
        return max(formulas.speedup(a, np.arange(33), c))
    goal = fastest(a_small, c_small)
    return brentq(lambda c: fastest(a_big, c) - goal, 0.0, 1.0)
'''
_OTHER_MIX = '''
def mixed_speedup(k, c, traffic):
    passes = sum(share / sum(a**i for i in range(k + 1)) for share, a in traffic)
    return 1 / (passes + passes * k * c)
'''

GOLDEN = {
    # Lost: 1a, and 1b, whose chances add up to too little.
    "bonus_forgotten": ({"law-by-place": _LAW_WITHOUT_BONUS}, 78 - 8 - 10),
    # Lost: 1b.
    "deadline_by_the_mean": ({"chance-in-time": _MEAN_FOR_CHANCE}, 78 - 10),
    # Lost: 2a, 2b; 3a, 3b.
    "one_rate_and_a_pass_over_k": (
        {"rates-by-place": _ONE_RATE, "best-setting": _PASS_OVER_K}, 78 - 10 - 6 - 10 - 4),
    # Lost: 4a, 4b (the price); 5a, 5b.
    "one_k_and_averaged_speedups": (
        {"tie-price": _SMALL_ONES_K, "mixed-speedup": _AVERAGE}, 78 - 11 - 5 - 8 - 6),
    # Lost: 3a, not 3b, where no round takes exactly the limit; 5a, 5b.
    "limit_not_allowed_and_time_for_speedup": (
        {"best-setting": _BELOW_THE_LIMIT, "mixed-speedup": _TIME_FOR_SPEEDUP}, 78 - 10 - 8 - 6),
    # Lost: 4a, 4b.
    "not_a_number": ({"tie-price": _NOT_A_NUMBER}, 78 - 11 - 5),
    # Lost: 3a, and 3b, which nobody's numbers give.
    "visible_value_hard_coded": ({"best-setting": _VISIBLE_VALUE}, 78 - 10 - 4),
    # Lost: 2b, 3b, 4b, 5b.
    "placeholders": (
        {"my-full-tokens": "my_full_tokens = 0", "my-setting": "my_k, my_speedup = -1, 0",
         "my-draft": 'my_draft, my_tie_price = "small or big", -1', "my-mixed": "my_mixed_k, delivered = 0, 0"},
        78 - 6 - 4 - 5 - 6),
    "other_ways": (
        {"law-by-place": _OTHER_LAW, "chance-in-time": _OTHER_CHANCE, "rates-by-place": _OTHER_RATES,
         "best-setting": _OTHER_SETTING, "tie-price": _OTHER_TIE, "mixed-speedup": _OTHER_MIX}, 78),
}
