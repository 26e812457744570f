"""The static figures of the course: each ``figure(data...) -> Figure``; ``show`` puts one into a notebook."""

from specdec_lessons.figures.cost import (
    batch_speeds,
    column_times,
    kv_against_weights,
    pass_times,
    roofline,
    roofline_in_steps,
    step_time_bars,
)
from specdec_lessons.figures.load import (
    acceptance_of_rules,
    by_position,
    leniency,
    pass_cost_by_batch,
    speedup_by_batch,
    speedup_by_context,
)
from specdec_lessons.figures.loop import (
    acceptance_by_place,
    agreement_along,
    predicted_and_measured,
    trace_in_words,
)
from specdec_lessons.figures.drafting import acceptance_along, policy_race, survival_and_price, time_lanes
from specdec_lessons.figures.speedup import (
    fate_of_drafts,
    next_draft,
    published_against_formula,
    speedup_map,
    speedup_with_pass_cost,
    tokens_and_cost,
)
from specdec_lessons.figures.rejection import joint_laws, overlap_bars, rule_laws, uniform_paths
from specdec_lessons.figures.style import STATES, describe, new_figure, png, show, styled
from specdec_lessons.figures.verification import caches, causal_mask, greedy_round, pass_cost
from specdec_lessons.figures.tokens import survival_bars, token_ceilings, tokens_distribution, two_kinds

__all__ = [
    "STATES", "describe", "new_figure", "png", "show", "styled",
    "batch_speeds", "column_times", "kv_against_weights", "pass_times", "roofline", "roofline_in_steps",
    "step_time_bars",
    "caches", "causal_mask", "greedy_round", "pass_cost",
    "survival_bars", "token_ceilings", "tokens_distribution", "two_kinds",
    "fate_of_drafts", "next_draft", "published_against_formula", "speedup_map", "speedup_with_pass_cost",
    "tokens_and_cost",
    "acceptance_of_rules", "by_position", "leniency", "pass_cost_by_batch", "speedup_by_batch",
    "speedup_by_context",
    "acceptance_by_place", "agreement_along", "predicted_and_measured", "trace_in_words",
    "acceptance_along", "policy_race", "survival_and_price", "time_lanes",
    "joint_laws", "overlap_bars", "rule_laws", "uniform_paths",
]
