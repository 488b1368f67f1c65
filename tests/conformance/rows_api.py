"""Requests that the API server refuses or trims, of which a kubelet must see nothing: R26 to R43, R57 to R60."""

from __future__ import annotations

from collections.abc import Callable

from evenkeel.simulator.api.fields import JsonObject, child, ensure, number, rows, text
from evenkeel.simulator.kubelet.accounting import requests_of
from tests.conformance.bench import Ability, Answer, Doing
from tests.conformance.lab import (
    APPLY,
    BURSTABLE,
    GUARANTEED,
    IN_PROGRESS,
    MERGE,
    PENDING,
    RESTARTS,
    SECOND,
    Lab,
    actual,
    amounts,
    causes,
    change,
    condition,
    generation_of,
    refused,
    same_amounts,
    shown,
    sized,
    spec_of,
)
from tests.conformance.registry import row
from tests.conformance.rows_basic import beyond

FORBIDDEN, INVALID = "FieldValueForbidden", "FieldValueInvalid"
RESOURCES = "spec.containers[0].resources"


def untouched(lab: Lab, name: str, ask: Callable[[], Answer], *wanted: tuple[str, str]) -> Answer:
    """See that a request is refused for these causes and that nothing comes of it."""
    before = lab.read(name)
    answer = ask()
    refused(answer, *wanted)
    lab.bench.pass_time(SECOND)
    after = lab.read(name)
    assert generation_of(after) == 1
    assert child(after, "spec") == child(before, "spec")
    assert not condition(after, PENDING)
    assert not condition(after, IN_PROGRESS)
    lab.told(name, "")
    return answer


@row("resize:R26")
def limits_alone_would_change_the_class(lab: Lab) -> None:
    lab.run(lab.pod("g", lab.container(GUARANTEED)))
    answer = untouched(lab, "g", lambda: lab.patch("g", change(limits=amounts("1"))), (INVALID, "spec"))
    assert '"Guaranteed"' in text(rows(answer.body, "details", "causes")[0], "message")


@row("resize:R28")
def equal_requests_would_change_the_class(lab: Lab) -> None:
    lab.run(lab.pod("b"))
    untouched(lab, "b", lambda: lab.patch("b", change(requests=amounts("200m", "256Mi"))), (INVALID, "spec"))


@row("resize:R29")
def a_first_request_would_change_the_class(lab: Lab) -> None:
    lab.run(lab.pod("b", lab.container({})))
    untouched(lab, "b", lambda: lab.patch("b", change(requests=amounts("100m"))), (INVALID, "spec"))


@row("resize:R30")
def a_limit_cannot_go_but_a_request_can(lab: Lab) -> None:
    lab.run(lab.pod("b"))
    without: JsonObject = {"cpu": None}
    untouched(lab, "b", lambda: lab.patch("b", change(limits=without)), (FORBIDDEN, f"{RESOURCES}.limits"))
    lab.resize("b", requests={"memory": None})
    after = lab.settle("b")
    assert generation_of(after) == 2
    assert text(spec_of(after), "resources", "requests", "memory") == "256Mi"
    assert shown(after, "requests", "memory") == "256Mi"
    lab.told("b", "S2 C2")


@row("resize:R31")
def a_request_above_its_limit(lab: Lab) -> None:
    lab.run(lab.pod("b"))
    wish = change(requests=amounts("1"), limits=amounts("500m"))
    untouched(lab, "b", lambda: lab.patch("b", wish), (INVALID, f"{RESOURCES}.requests"))


@row("resize:R32")
def other_resources_cannot_change(lab: Lab) -> None:
    lab.run(lab.pod("b"))
    storage = change(requests={"ephemeral-storage": "1Gi"})
    untouched(lab, "b", lambda: lab.patch("b", storage), (FORBIDDEN, "spec"))
    extended = change(requests={"example.dev/gpu": "1"}, limits={"example.dev/gpu": "1"})
    untouched(lab, "b", lambda: lab.patch("b", extended), (FORBIDDEN, "spec"))


@row("resize:R33")
def the_policy_cannot_change(lab: Lab) -> None:
    lab.run(lab.pod("b"))
    wish: JsonObject = {"spec": {"containers": [{"name": "app", "resizePolicy": RESTARTS}]}}
    untouched(lab, "b", lambda: lab.patch("b", wish), (FORBIDDEN, "spec"))


@row("resize:R34")
def everything_else_is_dropped(lab: Lab) -> None:
    before = lab.run(lab.pod("b"))
    wish: JsonObject = {
        "metadata": {"labels": {"x": "y"}, "annotations": {"x": "y"}},
        "spec": {"containers": [{"name": "app", "image": "example.dev/other:1"}]},
    }
    answer = lab.patch("b", wish)
    assert answer.code == 200
    after = lab.read("b")
    assert generation_of(after) == 1
    for part in ("labels", "annotations"):
        assert child(after, "metadata", part) == child(before, "metadata", part)
    assert child(after, "spec") == child(before, "spec")


@row("resize:R35")
def the_main_endpoint_refuses(lab: Lab) -> None:
    lab.run(lab.pod("b"))
    wish = change(requests=amounts("500m"), limits=amounts("1"))
    untouched(lab, "b", lambda: lab.patch("b", wish, subresource=""), (FORBIDDEN, "spec"))


@row("resize:R38")
def a_plain_init_container_cannot_change(lab: Lab) -> None:
    setup = lab.container(BURSTABLE, "setup", does=Doing(exits_after=SECOND))
    lab.run(lab.pod("b", initContainers=[setup]))
    wish = change(amounts("150m"), container="setup", group="initContainers")
    untouched(lab, "b", lambda: lab.patch("b", wish), (FORBIDDEN, "spec"))


@row("resize:R39")
def a_pod_with_resources_of_its_own(lab: Lab) -> None:
    lab.run(lab.pod("b", resources=sized(amounts("200m", "256Mi"), amounts("1", "512Mi"))))
    untouched(lab, "b", lambda: lab.patch("b", change(requests=amounts("150m"))), (FORBIDDEN, "[]"))


@row("resize:R40", Ability.STATIC_PODS)
def a_static_pod_is_changed_by_its_manifest(lab: Lab) -> None:
    manifest = lab.pod("web", nodeName=None)
    lab.bench.put_manifest("web", manifest)
    name = f"web-{lab.bench.node}"
    lab.wait(lambda: (pod := lab.find(name)) and condition(pod, "Ready", "True"), "the mirror pod", 60)
    before = lab.read(name)
    assert "observedGeneration" not in child(before, "status")
    untouched(lab, name, lambda: lab.patch(name, change(requests=amounts("150m"))), (FORBIDDEN, "[]"))
    container = rows(manifest, "spec", "containers")[0]
    ensure(container, "resources", "requests")["cpu"] = "150m"
    lab.bench.put_manifest("web", manifest)

    def replaced() -> bool:
        pod = lab.find(name)
        if pod is None:
            return False
        is_new = text(pod, "metadata", "uid") != text(before, "metadata", "uid")
        return is_new and condition(pod, "Ready", "True") is not None

    lab.wait(replaced, "another mirror pod", 40)
    assert shown(lab.read(name), "requests", "cpu") == "150m"


@row("resize:R41")
def a_limit_range_holds(lab: Lab) -> None:
    lab.run(lab.pod("b"))
    limits: JsonObject = {"type": "Container", "max": {"cpu": "1"}}
    range_of: JsonObject = {"metadata": {"name": "most"}, "spec": {"limits": [limits]}}
    assert lab.create(range_of, "limitranges").code == 201
    lab.bench.pass_time(SECOND)
    answer = lab.patch("b", change(requests=amounts("2"), limits=amounts("2")))
    assert answer.code == 403
    assert "maximum cpu usage per Container is 1" in text(answer.body, "message")
    assert causes(answer) == []
    assert generation_of(lab.read("b")) == 1
    lab.told("b", "")


def limited(lab: Lab) -> None:
    """Run a pod that requests 900m of the 1000m that a quota grants."""
    quota: JsonObject = {"metadata": {"name": "most"}, "spec": {"hard": {"requests.cpu": "1"}}}
    assert lab.create(quota, "resourcequotas").code == 201
    path = f"/api/v1/namespaces/{lab.bench.namespace}/resourcequotas/most"
    lab.wait(lambda: child(lab.bench.call("GET", path).body, "status", "used"), "the quota is in force")
    lab.run(lab.pod("b", lab.container(sized(amounts("900m", "128Mi"), amounts(memory="256Mi")))))
    lab.wait(lambda: used_of(lab) == "900m", "the quota shows the use")


def used_of(lab: Lab) -> str:
    """Return what a quota says is used."""
    path = f"/api/v1/namespaces/{lab.bench.namespace}/resourcequotas/most"
    return text(lab.bench.call("GET", path).body, "status", "used", "requests.cpu")


@row("resize:R42")
def a_quota_holds(lab: Lab) -> None:
    limited(lab)
    answer = lab.patch("b", change(requests=amounts("1400m")))
    assert answer.code == 403
    assert "exceeded quota: most" in text(answer.body, "message")
    assert generation_of(lab.read("b")) == 1
    lab.told("b", "")


@row("resize:R43")
def an_infeasible_pod_escapes_its_quota(lab: Lab) -> None:
    quota: JsonObject = {"metadata": {"name": "most"}, "spec": {"hard": {"requests.cpu": "1"}}}
    lab.run(lab.pod("b", lab.container(sized(amounts("900m", "128Mi"), amounts(memory="256Mi")))))
    lab.resize("b", requests=amounts(beyond(lab)))
    lab.put_off("b", 2, "Infeasible")
    assert lab.create(quota, "resourcequotas").code == 201
    lab.wait(lambda: used_of(lab) == "900m", "the quota counts what is actual")
    lab.resize("b", requests=amounts("1400m"))
    after = lab.settle("b")
    assert shown(after, "requests", "cpu") == "1400m"
    lab.told("b", "I2 S3 C3")
    assert requests_of(after).cpu_millis == 1400
    lab.wait(lambda: used_of(lab) == "1400m", "more is used than granted", 60)


@row("resize:R57")
def a_node_that_shows_no_resources(lab: Lab) -> None:
    pod = lab.pod("b", nodeName=f"{lab.bench.node}-of-old")
    assert lab.create(pod).code == 201
    running: JsonObject = {
        "name": "app",
        "image": "x",
        "imageID": "x",
        "ready": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
    }
    status: JsonObject = {"status": {"phase": "Running", "containerStatuses": [running]}}
    assert lab.patch("b", status, subresource="status", kind=MERGE).code == 200
    refused(lab.patch("b", change(requests=amounts("150m"))), (FORBIDDEN, "spec"))
    assert generation_of(lab.read("b")) == 1


@row("resize:R58")
def a_pod_that_never_restarts_cannot_ask_for_it(lab: Lab) -> None:
    pod = lab.pod("b", lab.container(BURSTABLE, resizePolicy=RESTARTS), restartPolicy="Never")
    answer = lab.create(pod)
    assert answer.code == 422, answer
    assert "resizePolicy" in text(rows(answer.body, "details", "causes")[0], "field")
    assert not lab.exists("b")


@row("resize:R59")
def an_outdated_object_is_refused(lab: Lab) -> None:
    old = lab.run(lab.pod("b"))
    lab.resize("b", requests=amounts("150m"))
    settled = lab.settle("b")
    ensure(rows(old, "spec", "containers")[0], "resources", "requests")["cpu"] = "160m"
    answer = lab.bench.call("PUT", lab.path("b", "resize"), old)
    assert (answer.code, text(answer.body, "reason")) == (409, "Conflict")
    lab.bench.pass_time(SECOND)
    assert same_amounts(actual(lab.read("b")), actual(settled))
    lab.told("b", "S2 C2")


@row("resize:R60")
def applying_asks_who_owns_the_fields(lab: Lab) -> None:
    lab.run(lab.pod("b"))
    wish: JsonObject = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "b"},
        "spec": {"containers": [{"name": "app", "resources": sized(amounts("300m"), amounts("600m"))}]},
    }
    path = f"{lab.path('b', 'resize')}?fieldManager=vpa"
    answer = lab.bench.call("PATCH", path, wish, APPLY)
    assert answer.code == 409, answer
    assert {kind for kind, _ in causes(answer)} == {"FieldManagerConflict"}
    forced = lab.bench.call("PATCH", f"{path}&force=true", wish, APPLY)
    assert forced.code == 200, forced
    after = lab.settle("b")
    assert shown(after, "requests", "cpu") == "300m"
    owners = [m for m in rows(after, "metadata", "managedFields") if text(m, "manager") == "vpa"]
    assert [text(owner, "subresource") for owner in owners] == ["resize"]
    lab.told("b", "S2 C2")
    assert number(after, "status", "observedGeneration") == 2
