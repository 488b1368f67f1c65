"""Names that go with the API group."""

from __future__ import annotations

from dataclasses import asdict

from autoscaling.runtime.api_group import ApiGroup, cluster_names


def test_the_names_of_upstreams_group_are_upstreams() -> None:
    names = cluster_names(ApiGroup.UPSTREAM)
    assert (names.namespace, names.recommender_lease, names.updater_lease, names.status_lease) == (
        "kube-system",
        "vpa-recommender-lease",
        "vpa-updater",
        "vpa-admission-controller",
    )
    assert (names.webhook_configuration, names.webhook, names.webhook_service, names.webhook_secret) == (
        "vpa-webhook-config",
        "vpa.k8s.io",
        "vpa-webhook",
        "vpa-tls-certs",
    )


def test_no_name_of_our_own_group_is_one_of_upstreams() -> None:
    own, upstream = (asdict(cluster_names(group)) for group in (ApiGroup.EVENKEEL, ApiGroup.UPSTREAM))
    shared = {name for name in own if own[name] == upstream[name]}
    # Upstream has no certificate Lease; ours keeps its name, and lives in the namespace of the group.
    assert shared == {"certificate_lease"}
    assert own["webhook"] == "pods.autoscaling.evenkeel.dev"
