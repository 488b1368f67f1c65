"""Finding upstream's programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenkeel.simulator.processes.peer import PROGRAMS, PeerMissingError, peer_folder


def built(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for program in PROGRAMS:
        (folder / program).touch()
    return folder


def test_the_named_folder_counts_alone(tmp_path: Path) -> None:
    here, cache = built(tmp_path / "here"), built(tmp_path / "evenkeel-e2e" / "vpa-1")
    assert peer_folder({"EVENKEEL_UPSTREAM_VPA": str(here), "XDG_CACHE_HOME": str(tmp_path)}) == here
    with pytest.raises(PeerMissingError):
        peer_folder({"EVENKEEL_UPSTREAM_VPA": str(tmp_path / "nowhere"), "XDG_CACHE_HOME": str(tmp_path)})
    assert peer_folder({"XDG_CACHE_HOME": str(tmp_path)}) == cache


def test_a_folder_that_lacks_one_does_not_count(tmp_path: Path) -> None:
    (built(tmp_path / "evenkeel-e2e" / "vpa-1") / PROGRAMS[0]).unlink()
    with pytest.raises(PeerMissingError, match=r"python -m e2e\.cluster build --only vpa"):
        peer_folder({"XDG_CACHE_HOME": str(tmp_path)})
    second = built(tmp_path / "evenkeel-e2e" / "vpa-2")
    assert peer_folder({"XDG_CACHE_HOME": str(tmp_path)}) == second


def test_the_cache_lies_below_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = built(tmp_path / ".cache" / "evenkeel-e2e" / "vpa-1")
    assert peer_folder({}) == folder
