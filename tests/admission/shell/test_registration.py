"""Registration against an API server: made, kept up to date, never another's (spec: admission:3, admission:13.9)."""

from __future__ import annotations

import base64

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from admission.shell.measures import AdmissionMeasures
from admission.shell.registration import NOT_REGISTERED, Registered, Registration, RegistrationState
from admission.webhook_configuration import OWNER_LABEL, NamespaceScope, RegistrationSettings, ServiceTarget
from autoscaling.errors import ApiError
from autoscaling.kube.client import KubeClient
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.faults import Fault, Refuse

pytestmark = pytest.mark.anyio

NAME = "evenkeel-webhook-config"
SETTINGS = RegistrationSettings(
    name=NAME,
    webhook="pods.autoscaling.evenkeel.dev",
    group="autoscaling.evenkeel.dev",
    owner="evenkeel-system",
    target=ServiceTarget("evenkeel-system", "evenkeel-webhook"),
    scope=NamespaceScope(),
)
GROUP_VERSION, KIND = "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"


@pytest.fixture
def registration(client: KubeClient, measures: AdmissionMeasures) -> Registration:
    return Registration(client, SETTINGS, ("vpa-webhook-config",), measures)


def foreign(name: str = NAME, labels: dict[str, str] | None = None) -> dict[str, object]:
    hook = {
        "name": "pods.autoscaling.evenkeel.dev",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": {
            "service": {"namespace": "evenkeel-system", "name": "evenkeel-webhook"},
            "caBundle": base64.b64encode(b"their authority").decode(),
        },
    }
    metadata = {"name": name, "labels": labels or {}}
    return {"apiVersion": GROUP_VERSION, "kind": KIND, "metadata": metadata, "webhooks": [hook]}


def registered(cluster: ApiServer) -> dict[str, object]:
    return cluster.store.read(GROUP_VERSION, KIND, NAME)


async def test_it_is_made_then_kept_then_refreshed_in_place(
    cluster: ApiServer, registration: Registration, registry: CollectorRegistry
) -> None:
    assert await registration.read() == NOT_REGISTERED
    assert await registration.ensure(b"first") is RegistrationState.AS_WANTED
    assert registry.get_sample_value("evenkeel_admission_registered") == 1
    first = registered(cluster)
    assert await registration.read() == Registered(reaches_us=True, authorities=b"first")

    cluster.requests.clear()
    assert await registration.ensure(b"first") is RegistrationState.AS_WANTED
    assert [call.verb for call in cluster.requests.calls()] == ["get"]

    assert await registration.ensure(b"second") is RegistrationState.AS_WANTED
    assert (await registration.read()).authorities == b"second"
    second = registered(cluster)
    assert _uid(second) == _uid(first)
    assert not cluster.requests.calls(verb="delete")


def _uid(body: dict[str, object]) -> object:
    metadata = body["metadata"]
    assert isinstance(metadata, dict)
    return metadata["uid"]


@pytest.mark.parametrize("labels", [{}, {OWNER_LABEL: "another-namespace"}])
async def test_what_somebody_else_made_is_left_alone(
    cluster: ApiServer,
    registration: Registration,
    registry: CollectorRegistry,
    labels: dict[str, str],
) -> None:
    before = cluster.store.create(foreign(labels=labels))
    with capture_logs() as events:
        for _ in range(2):
            assert await registration.ensure(b"ours") is RegistrationState.FOREIGN
    assert registered(cluster) == before
    assert {call.verb for call in cluster.requests.calls()} == {"get"}
    assert registry.get_sample_value("evenkeel_admission_registered") == 0
    (said,) = events
    assert (said["event"], said["log_level"]) == ("webhook registration left alone", "error")
    assert f"kubectl label mutatingwebhookconfiguration {NAME}" in said["remedy"]


async def test_what_is_handed_over_is_taken(cluster: ApiServer, registration: Registration) -> None:
    cluster.store.create(foreign())
    await registration.ensure(b"ours")
    cluster.store.merge(foreign(labels={OWNER_LABEL: "evenkeel-system", "team": "a"}))
    assert await registration.ensure(b"ours") is RegistrationState.AS_WANTED
    assert (await registration.read()).authorities == b"ours"
    metadata = registered(cluster)["metadata"]
    assert isinstance(metadata, dict)
    assert metadata["labels"] == {OWNER_LABEL: "evenkeel-system", "team": "a"}


async def test_what_callers_trust_is_read_from_another_registration_too(
    cluster: ApiServer, registration: Registration
) -> None:
    cluster.store.create(foreign())
    assert await registration.read() == Registered(reaches_us=True, authorities=b"their authority")


async def test_somebody_who_was_quicker_is_no_error(cluster: ApiServer, registration: Registration) -> None:
    """Spec: admission:3.13, two replicas race."""
    cluster.faults.add(Fault(Refuse(409, reason="AlreadyExists"), verb="create"))
    assert await registration.ensure(b"a") is RegistrationState.CHANGED_MEANWHILE
    cluster.faults.clear()
    await registration.ensure(b"a")
    cluster.faults.add(Fault(Refuse(409, reason="Conflict"), verb="patch"))
    assert await registration.ensure(b"b") is RegistrationState.CHANGED_MEANWHILE


async def test_a_missing_permission_is_an_error(cluster: ApiServer, registration: Registration) -> None:
    cluster.faults.add(Fault(Refuse(403), verb="create"))
    with pytest.raises(ApiError):
        await registration.ensure(b"a")
    cluster.faults.add(Fault(Refuse(403), verb="get"))
    with pytest.raises(ApiError):
        await registration.read()


async def test_other_installations_are_named(cluster: ApiServer, registration: Registration) -> None:
    """Spec: product section 2."""
    assert await registration.report_others() == ()
    cluster.store.create(foreign("vpa-webhook-config"))
    with capture_logs() as events:
        assert await registration.report_others() == ("vpa-webhook-config",)
    assert [event["owner"] for event in events] == ["not Evenkeel"]
    cluster.faults.add(Fault(Refuse(403), verb="get", path="vpa-webhook-config"))
    assert await registration.report_others() == ()
