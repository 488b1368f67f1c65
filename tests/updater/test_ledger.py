"""What the changes of a round take up together."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from autoscaling.objectref import ObjectRef
from updater.ledger import NO_CLAIM, Claim, Ledger

BUDGETS = [ObjectRef("PodDisruptionBudget", "default", name) for name in ("a", "b")]
QUOTAS = [ObjectRef("ResourceQuota", "default", name) for name in ("q", "r")]
amounts = st.dictionaries(st.sampled_from(["cpu", "memory"]), st.integers(0, 10**12))
claims = st.builds(
    Claim,
    rooms=st.dictionaries(st.sampled_from(["n1", "n2"]), amounts),
    quotas=st.dictionaries(st.sampled_from(QUOTAS), amounts),
    budgets=st.lists(st.sampled_from(BUDGETS), unique=True).map(tuple),
)


@given(st.lists(claims))
def test_a_ledger_is_the_sum_of_its_claims(given_claims: list[Claim]) -> None:
    ledger = Ledger()
    for claim in given_claims:
        ledger = ledger.after(claim)
    for node in ("n1", "n2"):
        for name in ("cpu", "memory"):
            total = sum(claim.rooms.get(node, {}).get(name, 0) for claim in given_claims)
            assert ledger.rooms.get(node, {}).get(name, 0) == total
    for quota in QUOTAS:
        total = sum(sum(claim.quotas.get(quota, {}).values()) for claim in given_claims)
        assert sum(ledger.quotas.get(quota, {}).values()) == total
    for budget in BUDGETS:
        assert ledger.budgets.get(budget, 0) == sum(budget in claim.budgets for claim in given_claims)


def test_a_change_that_takes_up_nothing_leaves_the_ledger_as_it_is() -> None:
    ledger = Ledger().after(Claim(rooms={"n1": {"cpu": 5}}))
    assert ledger.after(NO_CLAIM) is ledger


@given(st.lists(claims), claims)
def test_a_change_that_came_to_nothing_gives_back_all_but_its_tokens(others: list[Claim], failed: Claim) -> None:
    """Spec: performance:U-3, beyond:B-24."""
    ledger = Ledger()
    for claim in others:
        ledger = ledger.after(claim)
    with_tokens = ledger.after(Claim(changes=failed.changes))
    assert _without_zeros(ledger.after(failed).without_claim(failed)) == _without_zeros(with_tokens)
    assert ledger.without_claim(NO_CLAIM) is ledger


def _without_zeros(ledger: Ledger) -> object:
    """Return all that is in a ledger, without amounts of nothing."""
    flat = {(key, name): amount for key, of in ledger.rooms.items() for name, amount in of.items()}
    flat |= {(str(key), name): amount for key, of in ledger.quotas.items() for name, amount in of.items()}
    flat |= {(str(key), ""): count for key, count in ledger.budgets.items()}
    return {key: amount for key, amount in flat.items() if amount}, ledger.changes
