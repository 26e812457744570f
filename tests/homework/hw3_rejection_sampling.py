"""Submissions of homework 3 whose points are known beforehand: the solved notebook, some cells replaced."""

AUTO = 78  # points by tests
WRITTEN = 22  # points by hand

PLAY_ROUND, WRONG_ROUNDS, FAULT, CHANCES, WORST = 15, 5, 7, 10, 4
SAME, MIRRORED, ONE_NUMBER, VERDICTS = 5, 5, 15, 12  # the verdicts in three pairs, 4 each

_FROM_P = '''
from specdec_lessons.decoding import token_at

def play_round(drafts, p, q, coins, u):
    for place, x in enumerate(drafts):
        if not coins[place] < p[place][x] / q[place][x]:
            return [*drafts[:place], token_at(u, p[place])]
    return [*drafts, token_at(u, p[-1])]
'''

_AT_MOST = '''
from specdec_lessons.decoding import token_at
from specdec_lessons.rejection import residual

def play_round(drafts, p, q, coins, u):
    for place, x in enumerate(drafts):
        if not coins[place] <= p[place][x] / q[place][x]:
            return [*drafts[:place], token_at(u, residual(p[place], q[place]))]
    return [*drafts, token_at(u, p[-1])]
'''

_NO_BONUS = '''
from specdec_lessons.decoding import token_at
from specdec_lessons.rejection import residual

def play_round(drafts, p, q, coins, u):
    for place, x in enumerate(drafts):
        if not coins[place] < p[place][x] / q[place][x]:
            return [*drafts[:place], token_at(u, residual(p[place], q[place]))]
    return list(drafts)
'''

_ROUND_BY_ARRAYS = '''
def play_round(drafts, p, q, coins, u):
    k = len(drafts)
    at = np.arange(k), np.asarray(drafts)
    kept = np.asarray(coins) < p[:k][at] / q[at]
    n = int(np.argmin(np.append(kept, False)))
    law = p[k] if n == k else np.clip(p[n] - q[n], 0, None)
    last = np.searchsorted(np.cumsum(law) / law.sum(), u, side="right")
    return np.append(at[1][:n], last)
'''

_RIGHT_ROUNDS_LISTED = '''
from specdec_lessons.decoding import token_at
from specdec_lessons.rejection import residual

def exact(one):
    rows, emitted = [one["behind"], *one["drafts"]], []
    for row, x, coin in zip(rows, one["drafts"], one["coins"]):
        p, q = mine.target[row], mine.draft[row]
        if coin >= p[x] / q[x]:
            return emitted + [token_at(one["u"], residual(p, q))]
        emitted.append(x)
    return emitted + [token_at(one["u"], mine.target[x])]

wrong_rounds = [number for number, one in enumerate(mine.log, start=1) if exact(one) == one["emitted"]]
fault = "none of these"
'''

_AGAIN_LAW = '''
def chances_law(p, q, n):
    kept = np.minimum(p, q)
    rejected = 1 - kept.sum()
    # who was rejected n - 1 times starts once more, by the exact rule: the law of that is p
    return p if n == 1 else kept + rejected * chances_law(p, q, n - 1)
'''

_SEARCHED_WORST = '''
from scipy.optimize import minimize_scalar
found = minimize_scalar(lambda R: R ** mine.chances - R, bounds=(0, 1), method="bounded")
worst_R, worst_distance = float(found.x), -float(found.fun)
'''

_PIECES_OF_R = '''
def joint_law(p, P, q, Q, coins):
    V = len(p)
    J = np.zeros((V, V))
    for x1 in range(V):
        for x2 in range(V):
            a, b = min(1.0, p[x1] / q[x1]), min(1.0, P[x1][x2] / Q[x1][x2])
            if coins == "fresh":
                pieces = [(a * b, True, True), (a * (1 - b), True, False), (1 - a, False, None)]
            else:
                edges = sorted([0.0, a, b if coins == "same" else 1 - b, 1.0])
                pieces = []
                for low, high in zip(edges, edges[1:]):
                    r = (low + high) / 2
                    r2 = r if coins == "same" else 1 - r
                    pieces.append((high - low, r < a, r2 < b))
            for length, keep_1, keep_2 in pieces:
                weight = q[x1] * Q[x1][x2] * length
                if weight == 0:
                    continue
                if keep_1 and keep_2:
                    J[x1, x2] += weight
                elif keep_1:
                    short = np.clip(P[x1] - Q[x1], 0, None)
                    J[x1] += weight * short / short.sum()
                else:
                    short = np.clip(p - q, 0, None)
                    J += weight * (short / short.sum())[:, None] * P
    return J.tolist()
'''

_ONE_NUMBER_BY_ARRAYS = '''
def one_number(p, q, u):
    edges = np.cumsum(q)
    x = np.searchsorted(edges / edges[-1], u, side="right")
    coin = (u - (edges - q)[x]) / q[x]
    ratio = np.minimum(1, p[x] / q[x])
    accepted = coin < ratio
    short = np.clip(p - q, 0, None)
    tokens = x.copy()
    if not accepted.all():
        again = (u - (edges - q)[x] - p[x])[~accepted] / (q - p)[x][~accepted]  # behind the kept part
        steps = np.cumsum(short) / short.sum()
        tokens[~accepted] = np.minimum(np.searchsorted(steps, again, side="right"), np.flatnonzero(short)[-1])
    return tokens, accepted
'''

_COIN_AS_IT_IS = '''
from specdec_lessons.decoding import token_at
from specdec_lessons.rejection import residual

def one_number(p, q, u):
    tokens, accepted = [], []
    for number in u:
        x = token_at(number, q)
        coin = (number - q[:x].sum()) / q[x]
        accepted.append(bool(coin < p[x] / q[x]))
        tokens.append(x if accepted[-1] else token_at(coin, residual(p, q)))
    return tokens, accepted
'''

_U_ITSELF = '''
def one_number(p, q, u):
    tokens, accepted = [], []
    for v in u:
        x = token_at(v, q)
        accepted.append(bool((v - q[:x].sum()) / q[x] < p[x] / q[x]))
        tokens.append(x if accepted[-1] else token_at(v, residual(p, q)))
    return tokens, accepted
'''

_NO_FLOOR = '''
def joint_law(p, P, q, Q, coins):
    first, second = np.minimum(1, p / q)[:, None], np.minimum(1, P / Q)
    both = {"fresh": first * second, "same": np.minimum(first, second), "mirrored": first + second - 1}[coins]
    return pair_law(p, P, q, Q, both)
'''

_TWO_COINS_ARE_TWO_COINS = '''
def joint_law(p, P, q, Q, coins):
    return p[:, None] * P
'''

_TWO_VERDICTS = '''
verdicts = {}
for letter, text in mine.proposals.items():
    if "If all k drafts" in text:
        verdicts[letter] = "Exact" if "nothing is added" in text else "Draft "
'''

_ONLY_THE_EXAMPLES = {
    "play-round": '''
def play_round(drafts, p, q, coins, u):
    return [0, 1, 0] if u == 0.5 else [1]
''',
    "chances-law": '''
def chances_law(p, q, n):
    return p if n == 1 else np.array([0.744, 0.256])
''',
    "worst-draft": '''
worst_R = 0.5
worst_distance = worst_R - worst_R**mine.chances
''',
    "joint-law": '''
def joint_law(p, P, q, Q, coins):
    if len(p) == 2:
        return {"fresh": [[0.36, 0.24], [0.24, 0.16]], "same": [[0.48, 0.12], [0.24, 0.16]],
                "mirrored": [[0.32, 0.28], [0.24, 0.16]] if p[0] > 0.5 else [[0, 0.2], [0.16, 0.64]]}[coins]
''',
    "one-number": '''
def one_number(p, q, u):
    return [0, 0, 1, 1, 2, 1, 2], [1, 1, 0, 0, 0, 1, 1]
''',
}

_NOT_NUMBERS = {
    "chances-law": '''
def chances_law(p, q, n):
    return np.full(len(p), np.nan)
''',
    "worst-draft": "worst_R = worst_distance = np.nan",
    "one-number": '''
def one_number(p, q, u):
    return np.full(len(u), np.nan), np.full(len(u), np.nan)
''',
}

GOLDEN = {
    "a rejected draft is drawn anew from p": ({"play-round": _FROM_P}, AUTO - PLAY_ROUND),
    "a coin may equal the ratio": ({"play-round": _AT_MOST}, AUTO - PLAY_ROUND),
    "the bonus is forgotten": ({"play-round": _NO_BONUS}, AUTO - PLAY_ROUND),
    "the right rounds listed in place of the wrong ones, and no fault": (
        {"log": _RIGHT_ROUNDS_LISTED}, AUTO - WRONG_ROUNDS - FAULT),
    "a distance without the half, and every proposal taken for exact": (
        {"worst-draft": "worst_R = (1 / mine.chances) ** (1 / (mine.chances - 1))\n"
                        "worst_distance = 2 * (worst_R - worst_R ** mine.chances)",
         "verdicts": "verdicts = dict.fromkeys('ABCDEF', 'exact')"},
        AUTO - WORST - VERDICTS),
    "only two of the verdicts": ({"verdicts": _TWO_VERDICTS}, AUTO - VERDICTS + 4),
    "coins of any kind taken for fresh ones": (
        {"joint-law": _TWO_COINS_ARE_TWO_COINS}, AUTO - SAME - MIRRORED),
    "both mirrored drafts kept with a negative probability": ({"joint-law": _NO_FLOOR}, AUTO - MIRRORED),
    "the coin used again as it is": ({"one-number": _COIN_AS_IT_IS}, AUTO - ONE_NUMBER),
    "the number used again as it is": ({"one-number": _U_ITSELF}, AUTO - ONE_NUMBER),
    "right by other ways": (
        {"play-round": _ROUND_BY_ARRAYS, "chances-law": _AGAIN_LAW, "worst-draft": _SEARCHED_WORST,
         "joint-law": _PIECES_OF_R, "one-number": _ONE_NUMBER_BY_ARRAYS}, AUTO),
    "only the examples that are shown": (
        _ONLY_THE_EXAMPLES, AUTO - PLAY_ROUND - CHANCES - WORST - SAME - MIRRORED - ONE_NUMBER),
    "nan for an answer": (_NOT_NUMBERS, AUTO - CHANCES - WORST - ONE_NUMBER),
}
