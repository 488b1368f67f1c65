"""The admission controller behind a real API server: whom it is asked about, and what becomes of them without it."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from e2e.admission_lab import ADMISSION, CONFIGURATION, TARGET_CPU, TEMPLATE_CPU, AdmissionLab
from e2e.api_socket import ApiSocket, api_socket
from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import JsonObject, JsonValue, at, condition, text_at
from e2e.cluster.kube import Kube
from e2e.installation import NAMESPACE, Group, Installation, restarts, vpa
from e2e.other_webhook import OtherWebhook
from e2e.updater_lab import Lab, asked_of, name_of, time_at, uid_of, updater_installed

TIMEOUT_SECONDS = 5
BOOST_SECONDS = 4
IGNORED = "e2e-not-asked-about"
WEBHOOK = "pods.autoscaling.evenkeel.dev"
OVERWRITTEN_CPU = "20m"

_AT_LEISURE_SECONDS = 8.0
"""What the machine may add to a time that something takes."""

_OWN_WAY = ("--status-lease-update-interval=2s", f"--webhook-timeout-seconds={TIMEOUT_SECONDS}")
_BOOSTS = "--feature-gates=CPUStartupBoost=true"
_LOOKS = {"get", "list", "watch"}


@pytest.fixture(scope="module")
def api(cluster: Cluster) -> Iterator[ApiSocket]:
    """The API server."""
    with api_socket(cluster, "admission-proxy") as opened:
        yield opened


@pytest.fixture(scope="module")
def installation(cluster: Cluster) -> Iterator[Installation]:
    """Evenkeel with start-up boosts, which is not asked about one namespace."""
    Kube(cluster).delete("namespace", IGNORED)
    cluster.kubectl("create", "namespace", IGNORED)
    flags = (f"--webhook-timeout-seconds={TIMEOUT_SECONDS}", f"--ignored-vpa-object-namespaces={IGNORED}", _BOOSTS)
    try:
        with updater_installed(cluster, _BOOSTS, admission=flags) as running:
            yield running
    finally:
        Kube(cluster).delete("namespace", IGNORED, wait=False)


@pytest.fixture
def lab(installation: Installation, kube: Kube, api: ApiSocket) -> AdmissionLab:
    """The test's own namespace under that installation."""
    return AdmissionLab(kube, api, installation)


def selecting(operator: str, *namespaces: str) -> JsonObject:
    """Return the selector of namespaces by name."""
    expression: JsonObject = {
        "key": "kubernetes.io/metadata.name",
        "operator": operator,
        "values": list[JsonValue](namespaces),
    }
    return {"matchExpressions": [expression]}


def rule(group: str, version: str, resource: str, *operations: str) -> JsonObject:
    """Return a rule as the API server keeps it."""
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "resources": [resource],
        "operations": list[JsonValue](operations),
        "scope": "*",
    }


def test_the_registration_says_what_it_should(lab: AdmissionLab) -> None:
    """Spec: admission:3.1 to admission:3.12."""
    webhook = lab.registration()
    client = at(webhook, "clientConfig")
    assert isinstance(client, dict)
    bundle = base64.b64decode(str(client.pop("caBundle")))
    assert bundle.startswith(b"-----BEGIN CERTIFICATE-----")
    assert webhook == {
        "name": WEBHOOK,
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"namespace": NAMESPACE, "name": Group.OWN.webhook_service, "port": 443}},
        "failurePolicy": "Ignore",
        "matchPolicy": "Equivalent",
        "namespaceSelector": selecting("NotIn", IGNORED),
        "objectSelector": {},
        "reinvocationPolicy": "Never",
        "rules": [
            rule("", "v1", "pods", "CREATE"),
            rule(Group.OWN.value, "*", "verticalpodautoscalers", "CREATE", "UPDATE"),
        ],
        "sideEffects": "None",
        "timeoutSeconds": TIMEOUT_SECONDS,
    }
    assert labels_of_registration(lab) == {"evenkeel.dev/registered-by": NAMESPACE}


def labels_of_registration(lab: AdmissionLab) -> JsonValue:
    """Return the labels of the object that our webhook is registered by."""
    return at(lab.kube.read("mutatingwebhookconfiguration", CONFIGURATION), "metadata", "labels")


def test_nothing_of_an_ignored_namespace_is_asked_about(lab: AdmissionLab) -> None:
    """Spec: admission:3.11, admission:5.13: there what is wrong with a VPA is a matter of the definition alone."""
    ignored = AdmissionLab(Kube(lab.cluster, IGNORED), lab.api, lab.installation)
    for one in (ignored, lab):
        one.prepare("web", "Initial")
    assert lab.wait_until_patched("web").cpu == TARGET_CPU

    before = lab.reviews(only_tried=True)
    elsewhere = ignored.try_pod("web")
    assert (elsewhere.answer.code, elsewhere.is_patched, elsewhere.cpu) == (201, False, TEMPLATE_CPU)
    gated = vpa(Group.OWN, "gated", [{"containerName": "*", "oomBumpUpRatio": "2"}])
    assert lab.api.post(f"{ignored.vpas}?dryRun=All", gated).code == 201
    assert lab.reviews(only_tried=True) == before
    assert lab.api.post(f"{lab.vpas}?dryRun=All", gated).code == 422
    assert lab.reviews(only_tried=True) == before + 1


def test_a_webhook_that_must_answer_holds_up_the_one_namespace(lab: AdmissionLab) -> None:
    """Spec: admission:3.2, admission:3.8, admission:12.1, admission:13.4, admission:13.9."""
    lab.prepare("web", "Initial")
    scope = f"--vpa-object-namespace={lab.kube.namespace}"
    flags = (*_OWN_WAY, "--webhook-failure-policy-fail", "--webhook-labels=team:one", scope)
    with lab.installation.otherwise(ADMISSION, *flags):
        wait_until_registered(lab, "Fail", selecting("In", lab.kube.namespace))
        assert labels_of_registration(lab) == {"evenkeel.dev/registered-by": NAMESPACE, "team": "one"}
        lab.wait_until_patched("web")
        with lab.installation.without(ADMISSION):
            refused = lab.try_pod("web")
            assert refused.answer.code == 500
            assert f'failed calling webhook "{WEBHOOK}"' in refused.answer.message
            elsewhere = lab.try_pod("web", IGNORED)
            assert (elsewhere.answer.code, elsewhere.is_patched) == (201, False)
            assert lab.api.post(f"{lab.vpas}?dryRun=All", without_policy("tried")).code == 500
        assert lab.wait_until_patched("web").answer.code == 201
    wait_until_registered(lab, "Ignore", selecting("NotIn", IGNORED))


def wait_until_registered(lab: AdmissionLab, failure_policy: str, selector: JsonObject) -> None:
    """Wait until the process has brought its registration up to date with its flags."""

    def is_registered() -> bool:
        webhook = lab.registration()
        assert (webhook["failurePolicy"], webhook["namespaceSelector"]) == (failure_policy, selector)
        return True

    lab.kube.wait_for(is_registered, "the new registration")


def test_pods_start_without_the_webhook_and_get_theirs_once_it_is_back(lab: AdmissionLab) -> None:
    """Spec: admission:12.1, admission:13.24: the updater mends what it may, and Initial keeps it from the other pod."""
    updater = Lab(lab.kube, lab.installation)
    lab.prepare("web", "Initial")
    lab.prepare("mended", "InPlaceOrRecreate")
    lab.wait_until_patched("web")
    with lab.installation.without(ADMISSION):
        tried = lab.try_pod("web")
        assert (tried.answer.code, tried.is_patched) == (201, False)
        assert tried.seconds < TIMEOUT_SECONDS
        unchecked = lab.api.post(f"{lab.vpas}?dryRun=All", without_policy("tried"))
        assert (unchecked.code, at(unchecked.body, "spec", "updatePolicy")) == (201, None)
        old, unmended = lab.run("web"), lab.run("mended")
        mended = updater.wait_until_given("mended", {"cpu": TARGET_CPU}, timeout_seconds=60.0)
    assert (uid_of(mended), restarts(mended)) == (uid_of(unmended), 0)
    assert (asked_of(old), at(old, "metadata", "annotations")) == (TEMPLATE_CPU, None)

    lab.wait_until_patched("web")
    lab.kube.delete("pod", name_of(old))
    new = updater.wait_for_replacement("web", old, timeout_seconds=60.0)
    assert asked_of(new) == TARGET_CPU
    assert text_at(new, "metadata", "annotations", "vpaUpdates") == (
        "Pod resources updated by web: container 0: cpu request, memory request"
    )


def test_a_webhook_that_hangs_is_waited_for_no_longer_than_its_timeout(lab: AdmissionLab) -> None:
    """Spec: admission:3.10, admission:12.1, case:36."""
    lab.prepare("web", "Initial")
    lab.wait_until_patched("web")
    with lab.installation.stalled(ADMISSION):
        tried = lab.try_pod("web")
    assert (tried.answer.code, tried.is_patched, tried.cpu) == (201, False, TEMPLATE_CPU)
    assert TIMEOUT_SECONDS <= tried.seconds < TIMEOUT_SECONDS + _AT_LEISURE_SECONDS
    lab.wait_until_patched("web")


@pytest.mark.parametrize(
    ("other", "cpu"),
    [
        (OtherWebhook("aa-before", OVERWRITTEN_CPU), TARGET_CPU),
        (OtherWebhook("aa-before-and-again", OVERWRITTEN_CPU, asked_again=True), OVERWRITTEN_CPU),
        (OtherWebhook("zz-after", OVERWRITTEN_CPU), OVERWRITTEN_CPU),
    ],
    ids=lambda value: value.configuration if isinstance(value, OtherWebhook) else value,
)
def test_who_is_asked_last_has_the_last_word(lab: AdmissionLab, tmp_path: Path, other: OtherWebhook, cpu: str) -> None:
    """Spec: admission:3.12, admission:13.17: our webhook is asked once, whoever else changes the pod afterwards."""
    lab.prepare("web", "Initial")
    lab.wait_until_patched("web")
    with lab.beside(other, tmp_path):
        before = lab.reviews(only_tried=True)
        tried = lab.try_pod("web")
        assert (tried.is_patched, tried.cpu) == (True, cpu)
        assert lab.reviews(only_tried=True) == before + 1


def test_another_webhook_that_undoes_ours_is_shown_and_ends_the_evictions(lab: AdmissionLab, tmp_path: Path) -> None:
    """Rows case:35, beyond:B-25: two replacements in vain, then a condition and an event with what was seen."""
    updater = Lab(lab.kube, lab.installation)
    lab.prepare("evicted", "Recreate")
    lab.prepare("resized", "InPlaceOrRecreate")
    lab.wait_until_patched("resized")
    with lab.beside(OtherWebhook("zz-after", OVERWRITTEN_CPU), tmp_path):
        resized = lab.run("resized")
        lab.run("evicted")
        told = updater.wait_for_condition("evicted", "EvictionLoop", timeout_seconds=90.0)
        (last,) = lab.kube.wait_for_pods("app=evicted")
        updater.wait_for_reason(last, "eviction_loop")
        updater.wait_for_rounds(last, 2)
    seen = f"container main has {OVERWRITTEN_CPU} cpu, wanted {TARGET_CPU}"
    assert seen in text_at(told, "message")
    (event,) = lab.kube.events("evicted", "EvictionLoop")
    assert (event.kind, event.type) == ("VerticalPodAutoscaler", "Warning")
    assert seen in event.message
    assert [entry.code for entry in updater.calls("eviction")] == [201, 201]
    assert uid_of(updater.only_pod("evicted")) == uid_of(last)

    in_place = updater.wait_until_given("resized", {"cpu": TARGET_CPU})
    assert (uid_of(in_place), restarts(in_place)) == (uid_of(resized), 0), "a resize asks no webhook"
    updater.assert_well()


def test_a_dry_run_leaves_nothing_behind(lab: AdmissionLab) -> None:
    """Spec: admission:3.9: only what is tried is counted, and the log says that it was."""
    lab.prepare("web", "Initial")
    lab.wait_until_patched("web")
    others, tried = lab.reviews(only_tried=False), counts_of_dry_runs(lab)
    assert lab.try_pod("web").cpu == TARGET_CPU
    defaulted = lab.api.post(f"{lab.vpas}?dryRun=All", without_policy("tried"))
    assert at(defaulted.body, "spec", "updatePolicy") == {"updateMode": "Recreate"}

    assert lab.reviews(only_tried=False) == others
    assert counts_of_dry_runs(lab) == (tried[0] + 1, tried[1] + 1)
    last = [(line["reason"], line["dry_run"]) for line in lab.decided()[-2:]]
    assert last == [("Patched", True), ("Defaulted", True)]
    assert lab.kube.pods() == []
    assert lab.kube.find(Group.OWN.resource, "tried") is None
    assert [event for event in lab.kube.events() if event.source.startswith("evenkeel")] == []
    asked = [entry for entry in lab.installation.requests() if entry.namespace == lab.kube.namespace]
    assert [entry for entry in asked if entry.verb not in _LOOKS] == []


def counts_of_dry_runs(lab: AdmissionLab) -> tuple[float, float]:
    """Return how many tried pods were patched, and how many tried VPAs were given their default."""
    patched = lab.reviews(only_tried=True, resource="Pod", reason="Patched")
    return patched, lab.reviews(only_tried=True, resource="VPA", reason="Defaulted")


def test_a_pod_starts_with_more_cpu_and_gives_it_back_in_place(lab: AdmissionLab) -> None:
    """Spec: admission:8.2, admission:8.3, admission:8.9 (mode Off), admission:8.11, admission:12.8."""
    updater = Lab(lab.kube, lab.installation)
    boost: JsonObject = {"cpu": {"type": "Factor", "factor": 3, "durationSeconds": BOOST_SECONDS}}
    expected = {"scaled": ("450m", TARGET_CPU), "own": ("150m", TEMPLATE_CPU)}
    for name, mode in (("scaled", "InPlaceOrRecreate"), ("own", "Off")):
        lab.prepare(name, mode, startupBoost=boost)
        lab.wait_until_patched(name)
    before = len(lab.decided())
    with updater.watching() as seen:
        for name in expected:
            lab.kube.run("scale", "deployment", name, "--replicas=1")
        after = {
            name: updater.wait_until_given(name, {"cpu": end}, timeout_seconds=60.0)
            for name, (_, end) in expected.items()
        }
    for name, (boosted, _) in expected.items():
        versions = [pod for now in seen.instants() for pod in now.values() if uid_of(pod) == uid_of(after[name])]
        ready = next(pod for pod in versions if text_at(condition(pod, "Ready"), "status") == "True")
        assert at(ready, "status", "containerStatuses", 0, "resources", "requests", "cpu") == boosted
        (resize,) = (entry for entry in updater.calls("resize") if entry.name == name_of(after[name]))
        waited = resize.at - time_at(condition(ready, "Ready"), "lastTransitionTime")
        assert BOOST_SECONDS <= waited / timedelta(seconds=1) <= BOOST_SECONDS + 1 + _AT_LEISURE_SECONDS
        assert (resize.code, restarts(after[name])) == (200, 0)
    asked = [(line["reason"], line["vpa"]) for line in lab.decided()[before:]]
    assert sorted(asked) == [("Patched", "own"), ("Patched", "scaled")], "resizes and updates are not asked about"

    def is_told() -> bool:
        annotations = [at(updater.only_pod(name), "metadata", "annotations") for name in expected]
        assert all(isinstance(a, dict) and a.get("vpaInPlaceUpdated") == "true" for a in annotations)
        assert not [key for a in annotations if isinstance(a, dict) for key in a if "Boost" in key]
        return True

    lab.kube.wait_for(is_told, "the annotations' change")
    assert {uid_of(updater.only_pod(name)) for name in expected} == {uid_of(pod) for pod in after.values()}
    assert updater.calls("eviction") == []


def test_an_invalid_vpa_is_refused_with_everything_that_is_wrong(lab: AdmissionLab) -> None:
    """Spec: admission:4.3.5, admission:4.3.7, admission:5.24, admission:12.6; a warning goes with the refusal, too."""
    policy: JsonObject = {
        "containerName": "main",
        "mode": "Off",
        "minAllowed": {"cpu": "100500u", "memory": "64Mi"},
        "maxAllowed": {"cpu": "50m", "memory": "32Mi"},
        "controlledValues": "RequestsAndLimits",
        "oomBumpUpRatio": "2",
        "startupBoost": {"cpu": {"type": "Factor"}},
    }
    answer = lab.api.post(lab.vpas, vpa(Group.OWN, "wrong", [policy], updateMode="Auto", minReplicas=0))
    place = "spec.resourcePolicy.containerPolicies[0]"
    assert answer.code == 422
    assert answer.fields == [
        "spec.updatePolicy.minReplicas",
        f"{place}.minAllowed[cpu]",
        f"{place}.maxAllowed[cpu]",
        f"{place}.maxAllowed[memory]",
        f"{place}.controlledValues",
        f"{place}.oomBumpUpRatio",
        f"{place}.startupBoost.cpu.factor",
    ]
    assert all(field in answer.message for field in answer.fields)
    assert [warning.split(":")[0] for warning in answer.warnings] == ["spec.updatePolicy"]
    assert lab.kube.find(Group.OWN.resource, "wrong") is None


def test_a_vpa_is_taken_with_a_warning_and_its_change_for_the_worse_is_not(lab: AdmissionLab) -> None:
    """Spec: admission:3.6, admission:4.3.7, admission:5.4."""
    taken = lab.api.post(lab.vpas, vpa(Group.OWN, "old-fashioned", [], updateMode="Auto"))
    assert taken.code == 201, taken.message
    (warning,) = taken.warnings
    assert "[InPlace InPlaceOrRecreate Initial Off Recreate]" in warning
    worse: JsonObject = {"op": "add", "path": "/spec/updatePolicy/updateMode", "value": "InPlace"}
    refused = lab.api.patch(f"{lab.vpas}/old-fashioned", [worse])
    assert (refused.code, refused.fields) == (422, ["spec.updatePolicy.updateMode"])
    assert "--feature-gates=InPlace=true" in refused.message
    assert at(lab.kube.read(Group.OWN.resource, "old-fashioned"), "spec", "updatePolicy", "updateMode") == "Auto"


def without_policy(name: str) -> JsonObject:
    """Return a VPA that leaves its update policy to the default."""
    scaler = vpa(Group.OWN, name, [])
    spec = scaler["spec"]
    assert isinstance(spec, dict)
    del spec["updatePolicy"]
    return scaler


def test_it_asks_for_nothing_that_it_may_not(installation: Installation) -> None:
    """Product 9: with restarts, other flags and boosts, no process went beyond its rights."""
    assert installation.ended() == []
    assert installation.forbidden() == []
