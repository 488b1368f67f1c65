"""The table of fields on the wire."""

from __future__ import annotations

from evenkeel.simulator.api.builtin_schemas import schema_of
from evenkeel.simulator.api.fields import child
from evenkeel.simulator.api.protobuf_fields import OPTIONS_KIND, ROOTS, Shape, messages

SCALARS = {"string", "bytes", "bool", "int32", "int64", "double"}


def test_every_type_is_known_and_every_number_stands_once() -> None:
    table = messages()
    for name, fields in table.items():
        assert len({field.number for field in fields}) == len(fields), name
        assert len({field.name for field in fields}) == len(fields), name
        for field in fields:
            assert field.type in SCALARS or field.type in table, (name, field)
            assert field.number > 0


def test_the_objects_that_are_read_have_messages_with_metadata() -> None:
    table = messages()
    assert OPTIONS_KIND in table
    for name in ROOTS.values():
        assert table[name][0].name == "metadata", name


def test_fields_bear_the_names_that_json_has() -> None:
    for (api_version, kind), name in ROOTS.items():
        group, _, version = api_version.rpartition("/")
        schema = schema_of(group, version, kind) if name != "NewEvent" else None
        if schema is not None:
            assert {field.name for field in messages()[name]} <= set(child(schema, "properties")), name


def test_shapes() -> None:
    container = {field.name: field.shape for field in messages()["Container"]}
    assert (container["name"], container["restartPolicy"], container["env"]) == (Shape.PLAIN, Shape.POINTER, Shape.LIST)
    (limits,) = [field for field in messages()["ResourceRequirements"] if field.name == "limits"]
    assert (limits.type, limits.shape) == ("Quantity", Shape.MAP)
    (source,) = [field for field in messages()["Volume"] if field.name == "volumeSource"]
    assert source.shape is Shape.INLINE
