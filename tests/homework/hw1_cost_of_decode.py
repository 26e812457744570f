"""Golden submissions of the first assignment: solution cells to replace, and the points that must come out.

Points of the tests: pass-bytes 8, pass-flops 8, verify-price 8, most-positions 9, critical-batch 12,
impossible-line 5, mistake 7, fit-measurements 9, best-option 10.
"""

AUTO, WRITTEN = 76.0, 24.0

WEIGHTS_FOR_EACH_POSITION = '''
def pass_bytes(model, positions, batch, context):
    numbers = 2 * model["layers"] * model["kv_heads"] * model["head_dim"] * context * batch
    return positions * model["parameters"] * model["weight_bits"] / 8 + numbers * model["cache_bits"] / 8
'''

NO_ATTENTION = '''
def pass_flops(model, positions, batch, context):
    return 2 * model["parameters"] * positions * batch
'''

FIRST_TOO_DEAR = '''
def most_positions(model, chip, batch, context, limit):
    n = 1
    while verify_price(model, chip, n, batch, context) <= limit:
        n += 1
    return n
'''

NEGATIVE_BATCH = '''
def critical_batch(model, chip, context):
    weights = model["parameters"] * model["weight_bits"] / 8 / chip["bandwidth"]
    cache = pass_bytes(model, 1, 1, context) / chip["bandwidth"] - weights
    return weights / (pass_flops(model, 1, 1, context) / chip["flops"] - cache)
'''

BANDWIDTH_ONLY_FIT = '''
def fit_measurements(model, contexts, rates):
    return 0.0, pass_bytes(model, 1, 1, contexts[0]) * rates[0]
'''

ONE_ANSWER_IS_SUSPECT = '''
impossible_line = next(line["line"] for line in mine.log if line["batch"] == 1)
mistake = "no cache"
'''

FREE_VERIFY_PASS = '''
def best_option(model, chip, tokens_per_pass, batch, context):
    plain = pass_seconds(model, chip, 1, batch, context)
    faster = {**chip, "flops": 2 * chip["flops"]}
    rates = {"quantise": 1 / pass_seconds({**model, "weight_bits": 4}, chip, 1, batch, context),
             "shrink cache": 1 / pass_seconds({**model, "cache_bits": 8}, chip, 1, batch, context),
             "more arithmetic": 1 / pass_seconds(model, faster, 1, batch, context),
             "speculate": tokens_per_pass / plain}
    return max(rates, key=rates.get)
'''

NOT_A_NUMBER_PRICE = '''
def pass_seconds(model, chip, positions, batch, context):
    return max(pass_bytes(model, positions, batch, context) / chip["bandwidth"],
               pass_flops(model, positions, batch, context) / chip["flops"])


def verify_price(model, chip, positions, batch, context):
    return float("nan")
'''

NOT_A_NUMBER_FIT = '''
def fit_measurements(model, contexts, rates):
    return float("nan"), float("nan")
'''

NOT_A_NUMBER_BATCH = '''
def critical_batch(model, chip, context):
    return float("nan")
'''

HARD_CODED_BATCH = '''
def critical_batch(model, chip, context):
    return {4: 10.0, 1: 10 / 3}.get(context, math.inf)
'''

HARD_CODED_FIT = '''
def fit_measurements(model, contexts, rates):
    return [2.0, 50.0]
'''

HARD_CODED_OPTION = '''
def best_option(model, chip, tokens_per_pass, batch, context):
    return "speculate" if chip["flops"] == 3000 else "quantise"
'''

HARD_CODED_MOST = '''
def most_positions(model, chip, batch, context, limit):
    return 2 if limit < 1.1 else 3
'''

PACKAGE_BYTES = '''
from specdec_lessons import cost


def shape(model):
    return cost.ModelShape("any", model["parameters"], model["layers"], model["heads"] * model["head_dim"],
                           model["heads"], model["kv_heads"], model["head_dim"])


def pass_bytes(model, positions, batch, context):
    cache = cost.kv_cache_bytes(shape(model), context, batch, model["cache_bits"] / 8)
    return model["weight_bits"] / 8 * model["parameters"] + cache
'''

PACKAGE_FLOPS = '''
def pass_flops(model, positions, batch, context):
    return cost.verify_pass(shape(model), cost.HARDWARE["L4"], positions, batch, context).flops
'''

BISECTION = '''
def most_positions(model, chip, batch, context, limit):
    low, high = 1, 2
    while verify_price(model, chip, high, batch, context) <= limit:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if verify_price(model, chip, middle, batch, context) <= limit:
            low = middle
        else:
            high = middle
    return low
'''

IN_BYTES = '''
import numpy as np


def critical_batch(model, chip, context):
    ridge = chip["flops"] / chip["bandwidth"]
    cached = cost.kv_cache_bytes(shape(model), context, 1, model["cache_bits"] / 8)
    gap = pass_flops(model, 1, 1, context) / ridge - cached
    return np.float64(model["parameters"] * model["weight_bits"] / 8 / gap) if gap > 0 else np.inf
'''

SOLVED_AS_A_SYSTEM = '''
def fit_measurements(model, contexts, rates):
    read = [pass_bytes(model, 1, 1, context) for context in contexts]
    overhead, seconds_per_byte = np.linalg.solve([[1.0, read[0]], [1.0, read[1]]], 1 / np.array(rates))
    return np.array([overhead, 1 / seconds_per_byte])
'''

GOLDEN = {
    # fails its own 8, v (8), the room (9), and the choice (10), where a pass over five would read five times
    "weights read for every position": ({"pass-bytes": WEIGHTS_FOR_EACH_POSITION}, AUTO - 8 - 8 - 9 - 10),
    # fails its own 8, v (8), the room (9) and the critical batch (12)
    "attention left out": ({"pass-flops": NO_ATTENTION}, AUTO - 8 - 8 - 9 - 12),
    "one too many, and no infinity": (
        {"most-positions": FIRST_TOO_DEAR, "critical-batch": NEGATIVE_BATCH}, AUTO - 9 - 12),
    # the invented line has a batch of six or more, and in this student's log the cache of one answer is counted
    "data sheet and no overhead": (
        {"fit-measurements": BANDWIDTH_ONLY_FIT, "log-verdict": ONE_ANSWER_IS_SUSPECT,
         "best-option": FREE_VERIFY_PASS},
        AUTO - 9 - 5 - 7 - 10),
    # the price is wanted for the room; the seconds stand
    "not a number": (
        {"verify-price": NOT_A_NUMBER_PRICE, "critical-batch": NOT_A_NUMBER_BATCH,
         "fit-measurements": NOT_A_NUMBER_FIT},
        AUTO - 8 - 9 - 12 - 9),
    "the visible examples by heart": (
        {"most-positions": HARD_CODED_MOST, "critical-batch": HARD_CODED_BATCH,
         "fit-measurements": HARD_CODED_FIT, "best-option": HARD_CODED_OPTION},
        AUTO - 9 - 12 - 9 - 10),
    "other ways to the same answers": (
        {"pass-bytes": PACKAGE_BYTES, "pass-flops": PACKAGE_FLOPS, "most-positions": BISECTION,
         "critical-batch": IN_BYTES, "fit-measurements": SOLVED_AS_A_SYSTEM},
        AUTO),
}
