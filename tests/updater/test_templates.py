"""What the template of a pod's controller says: ratios of limits to requests, and what a new pod begins with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.capping import process
from autoscaling.errors import InvalidObjectError
from autoscaling.limit_range_check import completed
from autoscaling.limitrange import LimitRange, LimitRangeItem, LimitType, NamespaceLimits, merge
from autoscaling.pod import Container, ContainerStatus, Pod
from autoscaling.quota import Quota, ScopeRequirement
from autoscaling.resources import ContainerResources
from autoscaling.target_resources import ContainerTarget, container_targets
from autoscaling.vpa import ContainerPolicy, ContainerRecommendation, ControlledValues, UpdateMode, Vpa
from autoscaling.workload import NO_TEMPLATE, Template, Workload
from tests.builders import amounts, container, limit_range, pod, printed, recommended, vpa, with_init_containers
from tests.updater.disruptions import ready, with_only
from tests.updater.rooms import node, on
from tests.updater.situations import (
    IPOR,
    MINUTE,
    NOW,
    RECREATE,
    Scene,
    annotated,
    killed,
    refusing,
    replica_set,
    reporting,
    sent,
    small,
    vpa_of,
)
from updater.decision import Action, Reason
from updater.settings import Settings
from updater.surroundings import Surroundings
from updater.templates import made_anew, with_own_ratios
from updater.unboost import UnboostContext, unboost

TEMPLATES = with_only("templates_are_read")
HELPING = with_only("templates_are_read", "eviction_only_when_it_helps")
BLIND = with_only("eviction_only_when_it_helps")
ONLY_REQUESTS = (ContainerPolicy("*", controlled_values=ControlledValues.REQUESTS_ONLY),)
DEFAULTS = limit_range(LimitType.CONTAINER, default="1/1Gi")


def template(**containers: str) -> Template:
    """Return a template of containers whose resources are written as ``requests limits``."""
    return {
        name: ContainerResources(*(amounts(each) or None for each in text.split())) for name, text in containers.items()
    }


def owner(asked: Template, replicas: int = 1) -> Workload:
    """Return the pods' ReplicaSet with a template."""
    return replace(replica_set(replicas), template=asked)


def of(subject: Container) -> tuple[dict[str, str], dict[str, str]]:
    """Return a container's requests and limits as text."""
    return printed(subject.resources.requests or {}), printed(subject.resources.limits or {})


@pytest.mark.parametrize(
    ("row", "asked", "items", "requests", "limits"),
    [
        ("updater:K-17", "10m/20Mi 40m/80Mi", (), "10m/20Mi", "40m/80Mi"),
        ("updater:K-17", "- -", (), "-", "-"),
        ("resize:1.2", "- 40m/80Mi", (), "40m/80Mi", "40m/80Mi"),
        ("resize:1.2", "10m 40m/80Mi", (), "10m/80Mi", "40m/80Mi"),
        ("resize:1.5", "10m/20Mi -", (DEFAULTS,), "10m/20Mi", "1/1Gi"),
        ("resize:1.5", "10m/20Mi 40m", (DEFAULTS,), "10m/20Mi", "40m/1Gi"),
    ],
)
def test_a_new_pod_begins_with_its_template(
    row: str, asked: str, items: Sequence[LimitRangeItem], requests: str, limits: str
) -> None:
    new = made_anew(reporting(ready(small("p0", "300m/300Mi", "1/1Gi")), "7m/7Mi"), template(c=asked), items)
    assert of(new.containers[0]) == (printed(amounts(requests)), printed(amounts(limits))), row
    assert (new.statuses, new.init_statuses, new.conditions, new.qos_class) == ((), (), (), ""), row


def test_other_containers_of_a_pod_are_as_they_are() -> None:
    subject = with_init_containers(
        pod(container("c", "1/1Gi"), container("injected", "3m/3Mi")), container("init", "2/2Gi")
    )
    new = made_anew(subject, template(c="10m/20Mi -", init="5m/5Mi -", later="9/9Gi -"), ())
    assert [(c.name, *of(c)) for c in (*new.containers, *new.init_containers)] == [
        ("c", {"cpu": "10m", "memory": "20Mi"}, {}),
        ("injected", {"cpu": "3m", "memory": "3Mi"}, {}),
        ("init", {"cpu": "5m", "memory": "5Mi"}, {}),
    ], "updater:K-17"


@pytest.mark.parametrize(
    ("row", "asked", "policies", "requests", "limits"),
    [
        ("updater:K-17", "50m/50Mi 100m/200Mi", None, "50m/50Mi", "100m/200Mi"),
        ("updater:K-17 one of two", "50m/50Mi 100m", None, "50m/200Mi", "100m/600Mi"),
        ("updater:K-17 no limit there", "50m/50Mi -", None, "100m/200Mi", "300m/600Mi"),
        ("updater:K-17 zero there", "50m/50Mi 0/0", None, "100m/200Mi", "300m/600Mi"),
        ("updater:K-17 limits stay", "50m/50Mi 100m/200Mi", ONLY_REQUESTS, "100m/200Mi", "300m/600Mi"),
    ],
)
def test_whose_ratio_counts(
    row: str, asked: str, policies: tuple[ContainerPolicy, ...] | None, requests: str, limits: str
) -> None:
    subject, around = reporting(small("p0", "9/9Gi"), "100m/200Mi", "300m/600Mi"), vpa_of(IPOR, policies=policies)
    basis = with_own_ratios(subject, template(c=asked), around, ())
    found = basis.actual_resources(basis.containers[0])
    assert (found.requests, found.limits) == (amounts(requests), amounts(limits)), row


def test_what_is_not_recommended_or_not_known_is_as_it_is() -> None:
    subject = pod(container("c", "100m/200Mi", "300m/600Mi"), container("d", "1m/1Mi", "9m/9Mi"))
    asked = template(c="1/1Gi 1/1Gi", d="1/1Gi 1/1Gi")
    assert with_own_ratios(subject, asked, vpa_of(IPOR), ()).containers[1] == subject.containers[1], "updater:K-17"
    assert with_own_ratios(subject, asked, vpa(policies=()), ()) == subject, "updater:K-17"
    assert with_own_ratios(subject, NO_TEMPLATE, vpa_of(IPOR), ()) is subject, "updater:K-17"


BY_HAND = small("p0", "100m/200Mi", "400m/1600Mi")
"""Somebody has given it more for a limit than the template says."""


@pytest.mark.parametrize(
    ("row", "settings", "asked", "limits"),
    [
        ("updater:K-17", TEMPLATES, "100m/200Mi 200m/400Mi", {"cpu": "500m", "memory": "600Mi"}),
        ("updater:K-17", TEMPLATES, "100m/200Mi 100m/200Mi", {"cpu": "250m", "memory": "300Mi"}),
        ("updater:X-2", with_only(), "100m/200Mi 200m/400Mi", {"cpu": "1", "memory": "2400Mi"}),
        ("updater:X-2", TEMPLATES, "", {"cpu": "1", "memory": "2400Mi"}),
    ],
)
def test_a_resize_has_the_ratio_of_the_template(
    row: str, settings: Settings, asked: str, limits: dict[str, str]
) -> None:
    known = template(c=asked) if asked else NO_TEMPLATE
    made = Scene(vpa_of(IPOR, minimum=1), (BY_HAND,), workloads=(owner(known),), settings=settings)
    (decision,) = made.played().decisions
    assert decision.patches is not None
    values = {str(op["path"]): op["value"] for op in sent(decision.patches.resize)}
    assert {name: values[f"/spec/containers/0/resources/limits/{name}"] for name in limits} == limits, row


def test_a_template_that_changes_counts_in_the_next_round() -> None:
    made = Scene(vpa_of(IPOR, minimum=1), (BY_HAND,), settings=TEMPLATES)
    first = replace(made, workloads=(owner(template(c="100m/200Mi 200m/400Mi")),)).played()
    other = (owner(template(c="100m/200Mi 300m/600Mi")),)
    second = replace(made, workloads=other, memory=first.memory, now=NOW + MINUTE).played()
    patches = [played.decisions[0].patches for played in (first, second)]
    assert [patch is not None and "900Mi" in str(sent(patch.resize)) for patch in patches] == [False, True], (
        "updater:K-17"
    )


def test_the_end_of_a_boost_has_the_ratio_of_the_template() -> None:
    subject = annotated(ready(small("p0", "300m/200Mi", "900m/200Mi")), boost='{"requests":{"cpu":"100m"}}')
    for settings, limit in ((TEMPLATES, "500m"), (with_only(), "750m")):
        made = Scene(vpa_of(IPOR), (subject,), workloads=(owner(template(c="100m/200Mi 200m/200Mi")),))
        seen = made.snapshot
        around = UnboostContext(seen.vpas[0], seen.pods, dict(seen.workloads), merge(()), settings)
        patches = unboost(subject, ("c",), around).patches
        assert patches is not None
        cpu = next(op for op in sent(patches.resize) if op["path"] == "/spec/containers/0/resources/limits/cpu")
        assert cpu["value"] == limit, "updater:K-17"


def quota(hard: str, used: str, *scopes: str, prefix: str = "requests.") -> Surroundings:
    """Return surroundings with one quota."""
    limits, use = ({f"{prefix}{name}": one for name, one in amounts(text).items()} for text in (hard, used))
    found = Quota("default", "q", limits, use, tuple(ScopeRequirement(scope) for scope in scopes))
    return Surroundings(quotas={"default": (found,)})


SCALED_ONCE = small("p0", "100m/200Mi", "1/2Gi")
"""Its limits followed its requests, until its VPA came to have RequestsOnly."""
WITH_SIDE = pod(container("c", "100m/200Mi"), container("side", "500m/500Mi"), name="p0")
"""The recommendation of one of its containers is gone."""


@pytest.mark.parametrize("mode", [RECREATE, IPOR])
@pytest.mark.parametrize(
    ("row", "subject", "policies", "asked", "around", "settings", "expected"),
    [
        (
            "updater:K-17 limits of before",
            SCALED_ONCE,
            ONLY_REQUESTS,
            {"c": "50m/100Mi 500m/500Mi"},
            quota("-/1Gi", "-/2Gi", prefix="limits."),
            HELPING,
            Action.EVICT,
        ),
        (
            "updater:K-17 limits of before",
            SCALED_ONCE,
            ONLY_REQUESTS,
            {"c": "50m/100Mi 500m/500Mi"},
            quota("-/1Gi", "-/2Gi", prefix="limits."),
            BLIND,
            Action.SKIP,
        ),
        (
            "updater:K-17 at the edge",
            WITH_SIDE,
            None,
            {"side": "50m/50Mi -"},
            quota("300m", "600m"),
            HELPING,
            Action.EVICT,
        ),
        (
            "updater:K-17 at the edge",
            WITH_SIDE,
            None,
            {"side": "51m/50Mi -"},
            quota("300m", "600m"),
            HELPING,
            Action.SKIP,
        ),
        ("case:4", WITH_SIDE, None, {"side": "50m/50Mi -"}, quota("749m", "600m"), BLIND, Action.SKIP),
        ("case:4", WITH_SIDE, None, {"side": "50m/50Mi -"}, quota("750m", "600m"), BLIND, Action.EVICT),
        ("updater:K-17 more", WITH_SIDE, None, {"side": "1/50Mi -"}, quota("1", "600m"), HELPING, Action.SKIP),
        (
            "updater:K-17 class",
            small(),
            None,
            {"c": "- 1/1Gi"},
            quota("1m", "9", "NotBestEffort"),
            HELPING,
            Action.SKIP,
        ),
        ("updater:K-17 class", small(), None, {"c": "- 1/1Gi"}, quota("1m", "9", "BestEffort"), HELPING, Action.EVICT),
    ],
)
def test_quotas_are_held_against_what_the_template_comes_to(
    *,
    row: str,
    subject: Pod,
    policies: tuple[ContainerPolicy, ...] | None,
    asked: dict[str, str],
    around: Surroundings,
    settings: Settings,
    expected: Action,
    mode: UpdateMode,
) -> None:
    asked = {"c": "10m/10Mi -", **asked}
    made = Scene(
        vpa_of(mode, minimum=1, policies=policies),
        (subject,),
        workloads=(owner(template(**asked)),),
        settings=settings,
        surroundings=around,
    )
    played = made.played(refusing(Action.RESIZE))
    assert played.decisions[-1].action is expected, row
    assert played.decisions[-1].reason is not Reason.REPLACED_BY_THE_SAME, row


@pytest.mark.parametrize(
    ("row", "asked", "settings", "expected"),
    [
        ("updater:K-17", "50m/50Mi -", ("templates_are_read",), Action.EVICT),
        ("updater:K-17", "51m/50Mi -", ("templates_are_read",), Action.SKIP),
        ("beyond:B-25", "51m/50Mi -", (), Action.SKIP),
    ],
)
def test_a_node_must_have_room_for_what_the_template_comes_to(
    row: str, asked: str, settings: tuple[str, ...], expected: Action
) -> None:
    made = Scene(
        vpa_of(RECREATE, minimum=1),
        (on(WITH_SIDE),),
        workloads=(owner(template(c="10m/10Mi -", side=asked)),),
        settings=with_only("free_room", *settings),
        surroundings=Surroundings(nodes={"node1": node("node1", "300m/8Gi")}),
    )
    assert [d.action for d in made.played().decisions] == [expected], row


CAPPED = small("p0", "100m/200Mi", "400m/800Mi")
"""A new pod of its template could not ask for more with RequestsOnly, whatever is recommended."""


@pytest.mark.parametrize(
    ("row", "asked", "settings", "expected"),
    [
        ("beyond:B-25", "10m/10Mi 100m/200Mi", TEMPLATES, Reason.REPLACED_BY_THE_SAME),
        ("beyond:B-25", "10m/10Mi 101m/200Mi", TEMPLATES, Reason.OUTSIDE_BOUNDS),
        ("updater:P-7", "10m/10Mi 100m/200Mi", with_only(), Reason.OUTSIDE_BOUNDS),
    ],
)
def test_a_pod_is_not_evicted_for_the_same(row: str, asked: str, settings: Settings, expected: Reason) -> None:
    subject = vpa_of(RECREATE, minimum=1, policies=ONLY_REQUESTS)
    made = Scene(subject, (CAPPED,), workloads=(owner(template(c=asked)),), settings=settings)
    (decision,) = made.played().decisions
    assert decision.reason is expected, row
    assert (decision.action is Action.EVICT) is (expected is Reason.OUTSIDE_BOUNDS), row


def test_what_a_replacement_gets_is_told_and_watched() -> None:
    subject = vpa_of(RECREATE, minimum=1, policies=ONLY_REQUESTS)
    known = owner(template(c="10m/10Mi 150m/250Mi", side="5m/5Mi -"))
    pods = (replace(WITH_SIDE, containers=(*CAPPED.containers, WITH_SIDE.containers[1])),)
    played = Scene(subject, pods, workloads=(known,), settings=HELPING).played()
    (decision,) = played.decisions
    assert decision.audit is not None
    assert decision.audit.by_container() == (
        "c cpu 100m→150m, memory 200Mi→250Mi, cpu limit 400m→150m, memory limit 800Mi→250Mi",
        "side cpu 500m→5m, memory 500Mi→5Mi",
    ), "beyond:B-42"
    assert decision.claim.eviction is not None
    wanted = decision.claim.eviction.wanted
    assert wanted is not None
    assert printed(wanted.containers[0].target) == {"cpu": "150m", "memory": "250Mi"}, "case:35"


def test_a_replacement_that_cannot_be_made_to_fit_is_none() -> None:
    # The new pod has a container that nobody recommends anything for, and whose limits are too much for the namespace.
    tight = limit_range(LimitType.POD, maximum="1/1Gi")
    known = owner(template(c="100m/200Mi 100m/200Mi", side="- 9/9Gi"))
    bare = replace(WITH_SIDE, containers=(small().containers[0], container("side")))
    wide = recommended("c", "250m/300Mi", lower="150m/250Mi", upper="4/8Gi")
    made = Scene(vpa_of(RECREATE, wide, minimum=1), (bare,), workloads=(known,), settings=TEMPLATES, limits=(tight,))
    (decision,) = made.played().decisions
    assert (decision.action, decision.reason) == (Action.SKIP, Reason.INVALID_OBJECT), "beyond:B-32"


def test_a_resize_without_effect_still_lets_the_pod_go() -> None:
    subject = killed(small("p0", "250m/300Mi"), MINUTE, MINUTE)
    status = replace(
        subject.statuses[0],
        resources=subject.containers[0].resources,
        allocated=subject.containers[0].resources.requests,
    )
    noted = '{"generation":1,"at":"2026-01-01T00:00:00Z","restarts":{"c":0}}'
    subject = replace(
        subject,
        statuses=(replace(status, restart_count=3),),
        annotations={"evenkeel.dev/resize-requested": noted},
    )
    settings = with_only("templates_are_read", "resize_without_effect")
    made = Scene(vpa_of(IPOR, minimum=1), (subject,), workloads=(owner(template(c="10m/10Mi -")),), settings=settings)
    assert made.played().said == ["p0 evict resize_without_effect"], "beyond:B-27"


SIZES = st.integers(1, 400)
RATIOS = st.integers(1, 7)


@st.composite
def asked_for(draw: st.DrawFn, name: str) -> Container:
    """Draw a container of a template, with or without limits."""
    cpu, memory = draw(SIZES), draw(SIZES)
    limits = draw(
        st.sampled_from(["-", f"{cpu * draw(RATIOS)}m/{memory * draw(RATIOS)}Mi", f"{cpu}m", f"-/{memory}Mi"])
    )
    return container(name, f"{cpu}m/{memory}Mi", limits)


@st.composite
def recommendations(draw: st.DrawFn) -> tuple[ContainerRecommendation, ...]:
    """Draw what is recommended for two containers."""
    return tuple(recommended(name, f"{draw(SIZES)}m/{draw(SIZES)}Mi", "1m/1Mi", "2/2Gi") for name in "cd")


@st.composite
def limit_ranges(draw: st.DrawFn) -> tuple[LimitRangeItem, ...]:
    """Draw LimitRanges for containers and pods."""
    kinds = draw(st.sets(st.sampled_from(LimitType)))
    maximum = f"{draw(st.integers(200, 3000))}m/{draw(st.integers(200, 3000))}Mi"
    default = draw(st.sampled_from([None, "500m/500Mi"]))
    return tuple(limit_range(k, maximum=maximum, default=default if k is LimitType.CONTAINER else None) for k in kinds)


def admitted(bare: Pod, around: Vpa, limits: NamespaceLimits) -> tuple[Pod, tuple[ContainerTarget, ...]]:
    """Return a new pod as admission makes it, and what that sets."""
    targets = container_targets(bare, around, process(bare, around, limits), limits)
    made = tuple(
        Container(
            c.name,
            ContainerResources(
                {**(c.resources.requests or {}), **t.requests}, {**(c.resources.limits or {}), **t.limits}
            ),
        )
        for c, t in zip(bare.containers, targets, strict=True)
    )
    return replace(bare, containers=made), targets


@given(
    st.tuples(asked_for("c"), asked_for("d")),
    st.lists(recommendations(), min_size=2, max_size=4),
    limit_ranges(),
    st.sampled_from(["spec", "status"]),
)
def test_however_often_a_pod_was_resized_it_gets_what_a_new_pod_would(
    containers: tuple[Container, ...],
    wanted: list[tuple[ContainerRecommendation, ...]],
    items: tuple[LimitRangeItem, ...],
    shown: str,
) -> None:
    """Case 46, and limits:S8.13, the drift of ratios: no round changes anything of a pod that was just admitted."""
    limits = merge((LimitRange("default", "l", items),))
    asked = {each.name: each.resources for each in containers}
    subject = completed(pod(*containers), items)
    try:
        for entries in wanted:
            subject, _ = admitted(with_own_ratios(subject, asked, vpa(*entries), items), vpa(*entries), limits)
            if shown == "status":
                statuses = (ContainerStatus(c.name, c.resources, is_running=True) for c in subject.containers)
                subject = replace(subject, statuses=tuple(statuses))
        _, of_new = admitted(made_anew(subject, asked, items), vpa(*wanted[-1]), limits)
    except InvalidObjectError:
        return
    basis = with_own_ratios(subject, asked, vpa(*wanted[-1]), items)
    again = container_targets(basis, vpa(*wanted[-1]), process(basis, vpa(*wanted[-1]), limits), limits)
    assert again == of_new, "case:46"
    has = [(c.resources.requests, c.resources.limits) for c in subject.containers]
    assert has == [
        ({**dict(h[0] or {}), **t.requests}, {**dict(h[1] or {}), **t.limits}) for h, t in zip(has, again, strict=True)
    ], "updater:K-17"
