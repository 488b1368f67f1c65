"""The command that writes the definitions."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoscaling.runtime.api_group import ApiGroup
from evenkeel.crd.__main__ import main
from evenkeel.crd.files import definition_files


def test_it_writes_every_definition(tmp_path: Path) -> None:
    assert main([str(tmp_path)]) == 0
    written = {
        str(path.relative_to(tmp_path)): path.read_text(encoding="utf-8")
        for path in tmp_path.rglob("*")
        if path.is_file()
    }
    assert written == {name: text for group in ApiGroup for name, text in definition_files(group).items()}


def test_it_wants_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "usage" in capsys.readouterr().err
