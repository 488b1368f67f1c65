"""What the registration says, and what is done about the one that is there (spec: admission:3)."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import pytest

from admission.webhook_configuration import (
    OWNER_LABEL,
    Action,
    NamespaceScope,
    RegistrationSettings,
    ServiceTarget,
    UrlTarget,
    action_for,
    ca_bundles,
    configuration,
    merge_patch,
    owner_of,
    reaches,
)

SETTINGS = RegistrationSettings(
    name="vpa-webhook-config",
    webhook="vpa.k8s.io",
    group="autoscaling.k8s.io",
    owner="kube-system",
    target=ServiceTarget("kube-system", "vpa-webhook"),
    scope=NamespaceScope(),
)
BUNDLE = "QUJD"
Object = dict[str, object]


def webhook_of(settings: RegistrationSettings, bundle: str = BUNDLE) -> Object:
    hooks = configuration(settings, bundle)["webhooks"]
    assert isinstance(hooks, list)
    (hook,) = hooks
    assert isinstance(hook, dict)
    return hook


def test_the_object_field_by_field() -> None:
    """Each row as upstream registers it; the label alone is ours.

    Spec: admission:3.1, admission:3.3, admission:3.4, admission:3.5, admission:3.6, admission:3.9, admission:3.11,
    and for what is not there admission:3.12 and admission:13.17.
    """
    assert configuration(SETTINGS, BUNDLE) == {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "vpa-webhook-config", "labels": {OWNER_LABEL: "kube-system"}},
        "webhooks": [
            {
                "name": "vpa.k8s.io",
                "admissionReviewVersions": ["v1"],
                "rules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]},
                    {
                        "apiGroups": ["autoscaling.k8s.io"],
                        "apiVersions": ["*"],
                        "resources": ["verticalpodautoscalers"],
                        "operations": ["CREATE", "UPDATE"],
                    },
                ],
                "clientConfig": {
                    "service": {"namespace": "kube-system", "name": "vpa-webhook"},
                    "caBundle": BUNDLE,
                },
                "failurePolicy": "Ignore",
                "sideEffects": "None",
                "timeoutSeconds": 30,
                "namespaceSelector": {
                    "matchExpressions": [
                        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [""]},
                    ],
                },
            },
        ],
    }


VARIANTS: list[tuple[str, RegistrationSettings, str, object]] = [
    ("admission:3.10", replace(SETTINGS, timeout_seconds=10), "timeoutSeconds", 10),
    ("admission:3.8", replace(SETTINGS, fails_closed=True), "failurePolicy", "Fail"),
    (
        "admission:3.7",
        replace(SETTINGS, target=UrlTarget("https://hook:8000")),
        "clientConfig",
        {"url": "https://hook:8000", "caBundle": BUNDLE},
    ),
    (
        "admission:3.11",
        replace(SETTINGS, scope=NamespaceScope(ignored=("a", "b"))),
        "namespaceSelector",
        {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["a", "b"]}]},
    ),
    (
        "admission:13.4",
        replace(SETTINGS, scope=NamespaceScope(only="shop")),
        "namespaceSelector",
        {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["shop"]}]},
    ),
]


@pytest.mark.parametrize(("row", "settings", "field", "value"), VARIANTS)
def test_what_flags_change(row: str, settings: RegistrationSettings, field: str, value: object) -> None:
    assert webhook_of(settings)[field] == value, row


def test_labels_come_beside_our_own() -> None:
    """Spec: admission:3.2."""
    metadata = configuration(replace(SETTINGS, labels=(("team", "a"), (OWNER_LABEL, "x"))), "")["metadata"]
    assert metadata == {"name": "vpa-webhook-config", "labels": {"team": "a", OWNER_LABEL: "kube-system"}}


def test_without_authorities_nothing_is_said_of_them() -> None:
    """Spec: admission:3.7, caBundle nil when unreadable."""
    assert webhook_of(SETTINGS, "")["clientConfig"] == {"service": {"namespace": "kube-system", "name": "vpa-webhook"}}


def stored(settings: RegistrationSettings = SETTINGS, bundle: str = BUNDLE) -> Object:
    """Return the object as an API server keeps it, with what it adds."""
    body = deepcopy(configuration(settings, bundle))
    body["metadata"] = {**as_object(body["metadata"]), "resourceVersion": "7", "uid": "u", "generation": 1}
    hook = as_object(as_list(body["webhooks"])[0])
    hook |= {"matchPolicy": "Equivalent", "reinvocationPolicy": "Never", "objectSelector": {}}
    for rule in as_list(hook["rules"]):
        as_object(rule)["scope"] = "*"
    config = as_object(hook["clientConfig"])
    if "service" in config:
        config["service"] = {**as_object(config["service"]), "port": 443}
    body["webhooks"] = [hook]
    return body


def as_object(value: object) -> Object:
    assert isinstance(value, dict)
    return value


def as_list(value: object) -> list[object]:
    assert isinstance(value, list)
    return value


def labelled(value: str | None) -> Object:
    body = stored()
    as_object(body["metadata"])["labels"] = {} if value is None else {OWNER_LABEL: value}
    return body


def with_second_webhook() -> Object:
    body = stored()
    body["webhooks"] = [*as_list(body["webhooks"]), {"name": "other"}]
    return body


ACTIONS: list[tuple[str, Object | None, Action]] = [
    ("nothing there", None, Action.CREATE),
    ("as wanted, with what the API server adds", stored(), Action.KEEP),
    ("another bundle", stored(bundle="WFla"), Action.UPDATE),
    ("another timeout", stored(replace(SETTINGS, timeout_seconds=5)), Action.UPDATE),
    ("another target", stored(replace(SETTINGS, target=UrlTarget("https://x"))), Action.UPDATE),
    ("a second webhook in it", with_second_webhook(), Action.UPDATE),
    ("made by upstream", labelled(None), Action.LEAVE_ALONE),
    ("made by Evenkeel elsewhere", labelled("other-namespace"), Action.LEAVE_ALONE),
    ("without any labels", {"metadata": {"name": "vpa-webhook-config"}, "webhooks": []}, Action.LEAVE_ALONE),
]


@pytest.mark.parametrize(("case", "existing", "action"), ACTIONS)
def test_what_is_done_about_it(case: str, existing: Object | None, action: Action) -> None:
    """Spec: admission:13.9."""
    assert action_for(existing, configuration(SETTINGS, BUNDLE), "kube-system") is action, case


def test_an_update_is_guarded_and_keeps_other_labels() -> None:
    patch = merge_patch(stored(), configuration(SETTINGS, BUNDLE))
    assert patch["metadata"] == {"resourceVersion": "7", "labels": {OWNER_LABEL: "kube-system"}}
    assert patch["webhooks"] == configuration(SETTINGS, BUNDLE)["webhooks"]


def test_who_made_it() -> None:
    assert owner_of(stored()) == "kube-system"
    assert owner_of(labelled(None)) == ""
    assert owner_of({}) == ""


def test_what_callers_trust() -> None:
    assert ca_bundles(stored(), "vpa.k8s.io") == (BUNDLE,)
    assert ca_bundles(stored(bundle=""), "vpa.k8s.io") == ("",)
    assert ca_bundles(stored(), "another") == ()
    assert ca_bundles({}, "vpa.k8s.io") == ()


def test_whether_it_reaches_us() -> None:
    ours = ServiceTarget("kube-system", "vpa-webhook")
    assert reaches(stored(), "vpa.k8s.io", ours)
    assert not reaches(stored(), "another", ours)
    assert not reaches(stored(), "vpa.k8s.io", ServiceTarget("elsewhere", "vpa-webhook"))
    assert not reaches(stored(), "vpa.k8s.io", UrlTarget("https://hook:8000"))
    assert reaches(stored(replace(SETTINGS, target=UrlTarget("https://h"))), "vpa.k8s.io", UrlTarget("https://h"))
    assert not reaches({}, "vpa.k8s.io", ours)
