"""The rules that a resize or an eviction goes through before it is sent, in the order in which they apply."""

from __future__ import annotations

from updater import evicting, shaping
from updater.claim_release import unless_paused
from updater.feasibility import unless_infeasible
from updater.fitting import within_free_room
from updater.kept_resources import unless_node_keeps_it
from updater.memory_shrink import memory_within_use, never_for_less
from updater.namespace_bounds import within_limit_ranges, within_quotas
from updater.partial_resize import only_what_is_worth_it
from updater.pod_resources import unless_pod_has_resources
from updater.protection import eviction_within_budgets, only_as_required, restart_within_budgets
from updater.qos_kept import qos_class_kept
from updater.replacement import (
    not_for_the_same,
    not_in_a_loop,
    not_past_the_webhook,
    not_while_starting,
    replacement_within_quotas,
)
from updater.resize_effect import only_what_runs
from updater.schedulability import where_the_replacement_fits
from updater.storms import eviction_within_storm_budgets, resize_within_storm_budgets

RESIZE_STEPS: tuple[shaping.Step, ...] = (
    only_what_is_worth_it,
    unless_pod_has_resources,
    only_what_runs,
    memory_within_use,
    qos_class_kept,
    unless_node_keeps_it,
    within_limit_ranges,
    within_quotas,
    restart_within_budgets,
    within_free_room,
    # What was cut to the room of the node may leave an amount as it was, and that may be out of bounds by now.
    within_limit_ranges,
    unless_infeasible,
    resize_within_storm_budgets,
    unless_paused,
)
"""What a resize goes through: first what shapes it, then what may hold it back as it then stands."""

EVICTION_STEPS: tuple[evicting.Step, ...] = (
    never_for_less,
    only_as_required,
    not_for_the_same,
    not_in_a_loop,
    not_while_starting,
    eviction_within_budgets,
    replacement_within_quotas,
    where_the_replacement_fits,
    not_past_the_webhook,
    eviction_within_storm_budgets,
)
"""What an eviction goes through."""
