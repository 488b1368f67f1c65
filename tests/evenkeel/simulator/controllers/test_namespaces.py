"""What every namespace has."""

from __future__ import annotations

from tests.evenkeel.simulator.controllers.ground import Ground


def test_every_namespace_gets_its_default_objects_and_gets_them_back() -> None:
    ground = Ground()
    ground.run()
    ground.server.create_namespaces("team")
    ground.run()
    for namespace in ("default", "kube-system", "team"):
        assert ground.server.store.find("v1", "ServiceAccount", "default", namespace) is not None
        assert ground.server.store.find("v1", "ConfigMap", "kube-root-ca.crt", namespace) is not None
    ground.server.store.delete("v1", "ServiceAccount", "default", "team")
    ground.run()
    assert ground.server.store.find("v1", "ServiceAccount", "default", "team") is not None


def test_a_namespace_that_ends_gets_nothing() -> None:
    ground = Ground()
    ground.create(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}, "status": {"phase": "Terminating"}}
    )
    ground.run()
    assert ground.server.store.list("v1", "ServiceAccount", "x") == []
