"""Checkpoints from a file as kubectl prints it (beyond:B-36)."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from autoscaling.errors import ConfigurationError
from evenkeel.replay.shell.stored_histories import stored_in
from recommender.wire.checkpoints import checkpoint_json
from tests.evenkeel.replay.test_beginnings import STORED

GROUP = "autoscaling.evenkeel.dev/v1"
VPA = {
    "apiVersion": GROUP,
    "kind": "VerticalPodAutoscaler",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "frontend"}},
}


def test_a_list_of_both_kinds(tmp_path: Path) -> None:
    """beyond:B-36: what kubectl get -o yaml prints, times quoted or not."""
    file = tmp_path / "stored.yaml"
    listed = {"apiVersion": "v1", "kind": "List", "items": [checkpoint_json(STORED, GROUP), VPA, {"kind": "Pod"}]}
    text = yaml.safe_dump(listed)
    for each in (text, text.replace("'2026", "2026").replace("Z'", "Z")):
        file.write_text(each)
        found, problems = stored_in(file)
        assert problems == ()
        assert found.stored == {("shop", "frontend", "app"): STORED}


def test_several_documents_and_json(tmp_path: Path) -> None:
    """beyond:B-36."""
    file = tmp_path / "stored.yaml"
    file.write_text(yaml.safe_dump_all([checkpoint_json(STORED, GROUP), None, VPA]))
    assert list(stored_in(file)[0].stored) == [("shop", "frontend", "app")]
    file.write_text(yaml.safe_dump(checkpoint_json(STORED, GROUP), default_flow_style=True))
    assert list(stored_in(file)[0].stored) == [("shop", "web", "app")]


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    """beyond:B-36: and keeps nothing else from counting."""
    file = tmp_path / "stored.yaml"
    broken = {**checkpoint_json(STORED, GROUP), "status": {"totalSamplesCount": "many"}}
    file.write_text(yaml.safe_dump_all([broken, {**VPA, "spec": 3}, checkpoint_json(STORED, GROUP)]))
    found, problems = stored_in(file)
    assert (len(found.stored), len(problems)) == (1, 2)


@pytest.mark.parametrize(
    ("row", "content", "message"),
    [
        ("beyond:B-36 no file", None, "No such file"),
        ("beyond:B-36 no YAML", "a: [", "while parsing"),
        ("beyond:B-36 nothing", "", "there is no VerticalPodAutoscalerCheckpoint in it; write it with kubectl get"),
        ("beyond:B-36 another kind", "kind: Pod", "there is no VerticalPodAutoscalerCheckpoint in it"),
    ],
)
def test_a_file_of_something_else(tmp_path: Path, row: str, content: str | None, message: str) -> None:
    file = tmp_path / "stored.yaml"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ConfigurationError) as error:
        stored_in(file)
    assert message in str(error.value), row
