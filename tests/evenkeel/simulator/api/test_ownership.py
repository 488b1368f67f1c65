"""Who owns which field after plain writes and applies; expected values are those of a real server of version 1.35.4."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.simulator.api.builtin import builtin_kinds
from evenkeel.simulator.api.fields import JsonObject, copy_of, ensure, rows
from evenkeel.simulator.api.fieldsets import printed
from evenkeel.simulator.api.kinds import Kind
from evenkeel.simulator.api.ownership import (
    APPLY,
    LAST_APPLIED,
    UPDATE,
    Entries,
    Manager,
    Write,
    apply,
    create_applied,
    entries_of,
    inherited_fields,
    settled,
    update_entries,
    whole_schema,
    written,
)
from evenkeel.simulator.api.schemas import StructuralSchema
from evenkeel.simulator.api.status import StatusError

NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:00:09Z"
KINDS = {kind.kind: kind for kind in builtin_kinds() if kind.view is None}
MAPS, PODS, DEPLOYMENTS = KINDS["ConfigMap"], KINDS["Pod"], KINDS["Deployment"]


def by(name: str, operation: str = UPDATE, subresource: str = "", api_version: str = "v1") -> Write:
    return Write(Manager(name, operation, api_version, subresource), NOW)


def owners(entries: Entries) -> dict[str, list[str]]:
    return {entry.manager.name: sorted(printed(path) for path in entry.fields) for entry in entries}


def config_map(**data: str) -> JsonObject:
    return {"metadata": {"name": "c", "namespace": "default", "uid": "u", "generation": 1}, "data": dict(data)}


def owned(body: JsonObject, entries: Entries) -> JsonObject:
    result = copy_of(body)
    ensure(result, "metadata")["managedFields"] = written(entries)
    return result


def test_a_creator_owns_everything_but_what_the_server_keeps() -> None:
    entries = update_entries(MAPS, None, config_map(a="1"), by("m"))
    assert owners(entries) == {"m": [".data", ".data.a"]}


def test_fields_that_a_built_in_kind_has_anyway_are_nobody_s() -> None:
    body: JsonObject = {
        "metadata": {"name": "d", "labels": {"app": "d"}},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "d"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
            "template": {
                "metadata": {"labels": {"app": "d"}},
                "spec": {"containers": [{"name": "app", "image": "x", "ports": [{"containerPort": 80}]}]},
            },
        },
    }
    app = '.spec.template.spec.containers[name="app"]'
    assert owners(update_entries(DEPLOYMENTS, None, body, by("m", api_version="apps/v1")))["m"] == [
        ".metadata.labels",
        ".metadata.labels.app",
        ".spec.replicas",
        ".spec.selector",
        ".spec.strategy.rollingUpdate",
        ".spec.strategy.rollingUpdate.maxSurge",
        ".spec.strategy.type",
        ".spec.template.metadata.labels",
        ".spec.template.metadata.labels.app",
        app,
        f"{app}.image",
        f"{app}.name",
        f"{app}.ports",
        f'{app}.ports[containerPort=80,protocol="TCP"]',
        f'{app}.ports[containerPort=80,protocol="TCP"].containerPort',
    ]


def test_changed_fields_change_hands() -> None:
    first = update_entries(MAPS, None, config_map(a="1", b="2"), by("one"))
    body = owned(config_map(a="1", b="2"), first)
    same = update_entries(MAPS, body, copy_of(body), by("two"))
    assert owners(same) == {"one": [".data", ".data.a", ".data.b"]}
    changed = copy_of(body)
    changed["data"] = {"a": "9", "c": "3"}
    after = update_entries(MAPS, body, changed, by("two"))
    assert owners(after) == {"one": [".data"], "two": [".data.a", ".data.c"]}
    back = copy_of(owned({**changed}, after))
    back["data"] = {}
    assert owners(update_entries(MAPS, owned(changed, after), back, by("three"))) == {"one": [".data"]}


def test_a_removal_alone_keeps_the_time_of_what_is_left() -> None:
    first = update_entries(MAPS, None, config_map(a="1", b="2"), by("one"))
    body = owned(config_map(a="1", b="2"), first)
    less = copy_of(body)
    less["data"] = {"a": "1"}
    (entry,) = update_entries(MAPS, body, less, replace(by("one"), now=LATER))
    assert (entry.time, owners((entry,))) == (NOW, {"one": [".data", ".data.a"]})
    more = copy_of(body)
    more["data"] = {"a": "1", "b": "2", "c": "3"}
    (entry,) = update_entries(MAPS, body, more, replace(by("one"), now=LATER))
    assert entry.time == LATER


def test_each_subresource_is_a_manager_of_its_own_and_sees_its_part_only() -> None:
    pod: JsonObject = {
        "metadata": {"name": "a", "labels": {"app": "a"}},
        "spec": {"containers": [{"name": "app", "image": "x"}]},
        "status": {},
    }
    first = update_entries(PODS, None, pod, by("one"))
    body = owned(pod, first)
    changed = copy_of(body)
    ensure(changed, "metadata", "labels")["x"] = "y"
    changed["status"] = {"phase": "Running"}
    assert owners(update_entries(PODS, body, changed, by("kubelet", subresource="status")))["kubelet"] == [
        ".status.phase"
    ]
    assert owners(update_entries(PODS, body, changed, by("two")))["two"] == [".metadata.labels.x"]
    image = copy_of(body)
    rows(image, "spec", "containers")[0]["image"] = "y"
    found = owners(update_entries(PODS, body, image, by("resizer", subresource="resize")))
    assert found["resizer"] == ['.spec.containers[name="app"].image']
    assert '.spec.containers[name="app"].image' not in found["one"]


def test_an_object_that_nobody_s_writes_were_noted_on_stays_so() -> None:
    assert update_entries(MAPS, config_map(a="1"), config_map(a="2"), by("m")) == ()


def test_a_body_that_does_not_fit_its_schema_leaves_nothing() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {
            "l": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {}}
        },
    }
    kind = Kind("example.dev", "v1", "Widget", "widgets", schema=StructuralSchema(schema))
    assert update_entries(kind, None, {"metadata": {}, "l": [{}]}, by("m")) == ()


@pytest.mark.parametrize(
    ("sent", "subresource", "left"),
    [
        (None, "", ["one", "two"]),
        ([], "", []),
        ([{}], "", []),
        (
            [{"manager": "three", "operation": "Update", "apiVersion": "v1", "fieldsV1": {"f:data": {"f:a": {}}}}],
            "",
            ["three"],
        ),
        ([{}], "status", ["one", "two"]),
    ],
)
def test_a_writer_of_the_whole_object_may_set_entries(sent: object, subresource: str, left: list[str]) -> None:
    one = update_entries(MAPS, None, config_map(a="1"), by("one"))
    body = owned(config_map(a="1"), one)
    two = copy_of(body)
    two["data"] = {"a": "1", "b": "2"}
    body = owned(two, update_entries(MAPS, body, two, by("two")))
    wanted = copy_of(body)
    if sent is None:
        ensure(wanted, "metadata").pop("managedFields")
    else:
        ensure(wanted, "metadata")["managedFields"] = sent
    assert sorted(owners(update_entries(MAPS, body, wanted, by("x", subresource=subresource)))) == left


class TestApply:
    """Applies, one after another, to one config map."""

    created = config_map(a="1", b="2")
    first = update_entries(MAPS, None, created, by("creator"))
    live = owned(created, first)

    def test_the_same_value_is_shared(self) -> None:
        merged = apply(MAPS, self.live, config_map(a="1"), by("m1", APPLY))
        assert owners(merged.entries) == {"creator": [".data", ".data.a", ".data.b"], "m1": [".data.a"]}
        assert merged.body["data"] == {"a": "1", "b": "2"}

    def test_another_value_is_a_conflict(self) -> None:
        with pytest.raises(StatusError) as caught:
            apply(MAPS, self.live, config_map(a="9", b="9", c="9"), by("m1", APPLY))
        error = caught.value
        assert (error.code, error.reason) == (409, "Conflict")
        assert [(cause.type.value, cause.field) for cause in error.causes] == [
            ("FieldManagerConflict", ".data.a"),
            ("FieldManagerConflict", ".data.b"),
        ]
        assert '"creator" using v1 at 2026-01-01T00:00:00Z' in error.causes[0].message
        assert "2 conflicts" in error.message

    def test_force_takes_what_differs(self) -> None:
        merged = apply(MAPS, self.live, config_map(a="9"), replace(by("m1", APPLY), force=True))
        assert owners(merged.entries) == {"creator": [".data", ".data.b"], "m1": [".data.a"]}
        assert merged.body["data"] == {"a": "9", "b": "2"}

    def test_what_is_applied_no_longer_goes_unless_others_own_it(self) -> None:
        merged = apply(MAPS, self.live, config_map(a="1", z="1"), by("m1", APPLY))
        live = owned(merged.body, merged.entries)
        merged = apply(MAPS, live, config_map(y="1"), by("m1", APPLY))
        assert merged.body["data"] == {"a": "1", "b": "2", "y": "1"}
        assert owners(merged.entries)["m1"] == [".data.y"]
        live = owned(merged.body, merged.entries)
        nothing: JsonObject = {"metadata": {"name": "c"}}
        merged = apply(MAPS, live, nothing, by("m1", APPLY))
        assert merged.body["data"] == {"a": "1", "b": "2"}
        assert "m1" not in owners(merged.entries)

    def test_the_same_apply_again_changes_nothing(self) -> None:
        merged = apply(MAPS, self.live, config_map(z="1"), by("m1", APPLY))
        live = owned(merged.body, merged.entries)
        again = apply(MAPS, live, config_map(z="1"), replace(by("m1", APPLY), now=LATER))
        assert written(again.entries) == rows(live, "metadata", "managedFields")
        assert again.body == live

    def test_all_earlier_writers_of_an_object_without_entries_are_one(self) -> None:
        with pytest.raises(StatusError, match="before-first-apply"):
            apply(MAPS, self.created, config_map(a="7"), by("m2", APPLY))
        merged = apply(MAPS, self.created, config_map(a="1"), by("m2", APPLY))
        assert owners(merged.entries) == {"before-first-apply": [".data", ".data.a", ".data.b"], "m2": [".data.a"]}

    def test_creation(self) -> None:
        merged = create_applied(MAPS, config_map(a="1"), by("m1", APPLY))
        assert owners(merged.entries) == {"m1": [".data.a"]}
        assert create_applied(MAPS, {"metadata": {"name": "c"}}, by("m1", APPLY)).entries == ()


def test_a_whole_part_that_was_applied_goes_with_its_defaults() -> None:
    live: JsonObject = {"metadata": {"name": "d"}, "spec": {"replicas": 1, "strategy": {"type": "Recreate"}}}
    write = by("m", APPLY, api_version="apps/v1")
    first = create_applied(DEPLOYMENTS, live, write)
    defaulted = copy_of(live)
    ensure(defaulted, "spec", "strategy")["rollingUpdate"] = {"maxSurge": 1}
    merged = apply(
        DEPLOYMENTS, owned(defaulted, first.entries), {"metadata": {"name": "d"}, "spec": {"replicas": 1}}, write
    )
    assert merged.body["spec"] == {"replicas": 1}


LAST = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"a":"1","b":"2"}}'


@pytest.mark.parametrize(
    ("manager", "note", "path", "heir"),
    [
        ("kubectl", LAST, "f:a", True),
        ("kubectl", LAST, "f:c", False),
        ("kubectl", LAST.replace('"a":"1"', '"a":"0"'), "f:a", False),
        ("other", LAST, "f:a", False),
        ("kubectl", "", "f:a", False),
        ("kubectl", "{", "f:a", False),
        ("kubectl", LAST.replace("data", "dat"), "f:a", False),
    ],
)
def test_kubectl_inherits_what_it_applied_from_its_own_side(manager: str, note: str, path: str, heir: bool) -> None:
    live = config_map(a="1", b="2", c="3")
    ensure(live, "metadata", "annotations")[LAST_APPLIED] = note
    assert (("f:data", path) in inherited_fields(MAPS, live, manager)) is heir


def test_entries_survive_being_written_down() -> None:
    entries = update_entries(MAPS, None, config_map(a="1"), by("b"))
    more = (*entries, *create_applied(MAPS, config_map(z="1"), by("z", APPLY)).entries)
    body = owned(config_map(), more)
    listed = rows(body, "metadata", "managedFields")
    assert [(row["manager"], row["operation"], row["fieldsType"]) for row in listed] == [
        ("z", "Apply", "FieldsV1"),
        ("b", "Update", "FieldsV1"),
    ]
    assert set(owners(entries_of(body))) == {"b", "z"}
    assert written(entries_of(body)) == listed


def test_times_alone_are_no_change() -> None:
    entries = update_entries(MAPS, None, config_map(a="1"), by("m"))
    current = owned(config_map(a="1"), entries)
    later = tuple(replace(entry, time=LATER) for entry in entries)
    assert settled(later, copy_of(current), current) == rows(current, "metadata", "managedFields")
    assert settled(later, config_map(a="2"), current) == written(later)
    assert settled(later, config_map(a="1"), None) == written(later)
    assert settled((), copy_of(current), current) == []


def test_a_custom_kind_is_seen_with_its_metadata() -> None:
    kind = Kind("example.dev", "v1", "Widget", "widgets", schema=StructuralSchema({"type": "object"}))
    assert set(whole_schema(kind)["properties"]) == {"apiVersion", "kind", "metadata"}  # type: ignore[call-overload]
    assert owners(update_entries(kind, None, {"metadata": {"labels": {"a": "b"}}}, by("m"))) == {
        "m": [".metadata.labels", ".metadata.labels.a"]
    }
