"""The definitions as the text of the files in ``manifests/``."""

from __future__ import annotations

import yaml

from autoscaling.runtime.api_group import ApiGroup
from evenkeel.crd.definitions import definitions

_FOLDERS = {ApiGroup.EVENKEEL: "crd", ApiGroup.UPSTREAM: "crd/upstream-group"}

_HEADER = "# Written by `python -m evenkeel.crd manifests`: change evenkeel/crd and run it again.\n"


def definition_files(group: ApiGroup) -> dict[str, str]:
    """YAML text of each definition of a group, by its path below ``manifests/``."""
    return {
        f"{_FOLDERS[group]}/{plural}.yaml": _HEADER + yaml.safe_dump(definition, sort_keys=False, width=120)
        for plural, definition in definitions(group).items()
    }
