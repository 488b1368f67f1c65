"""Where parts of a YAML or JSON text stand, for messages that name their lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import yaml


def line_of(root: yaml.Node, place: Sequence[int | str]) -> int:
    """Return the line of a part, or of the nearest part around it that exists.

    Args:
        root: The whole document.
        place: Keys and positions that lead to the part.
    """
    node, line = root, root.start_mark.line
    for part in place:
        if isinstance(node, yaml.MappingNode):
            found = next(((k, v) for k, v in node.value if k.value == str(part)), None)
            if found is None:
                break
            line, node = found[0].start_mark.line, found[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line
        else:
            break
    return line + 1


def repeated_keys(node: yaml.Node) -> Iterator[tuple[int, str]]:
    """Yield line and name of every key that its mapping has already; YAML itself would silently take the last one."""
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from repeated_keys(item)
    if not isinstance(node, yaml.MappingNode):
        return
    seen: set[str] = set()
    for key, value in node.value:
        if isinstance(key, yaml.ScalarNode):
            if key.value in seen:
                yield key.start_mark.line + 1, key.value
            seen.add(key.value)
        yield from repeated_keys(value)
