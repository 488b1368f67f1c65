"""What of the lock file goes into the image."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.image.lock import LEFT_OUT, direct_requirements, of_names, pins

_ROOT = Path(__file__).parents[2]
_LOCK = """\
alpha==1.0 \\
    --hash=sha256:aa \\
    --hash=sha256:ab
beta-lib==2.0 ; python_full_version < '3.12' \\
    --hash=sha256:ba
beta-lib==3.0 ; python_full_version >= '3.12' \\
    --hash=sha256:bb
gamma==4.0 \\
    --hash=sha256:ca
"""


def test_pins_are_the_lock_without_its_hashes() -> None:
    """Spec: product:9."""
    assert pins(_LOCK).splitlines() == [
        "alpha==1.0",
        "beta-lib==2.0 ; python_full_version < '3.12'",
        "beta-lib==3.0 ; python_full_version >= '3.12'",
        "gamma==4.0",
    ]


def test_entries_keep_their_hashes_and_all_their_markers() -> None:
    chosen = of_names(_LOCK, ["Beta_Lib", "alpha"])
    assert chosen == _LOCK[: _LOCK.index("gamma")]


def test_a_name_that_is_not_locked_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"requirements\.lock: has no delta, epsilon; run `make lock`"):
        of_names(_LOCK, ["delta", "alpha", "epsilon"])


def test_every_direct_requirement_is_locked_and_what_is_left_out_is_one_of_them() -> None:
    project = (_ROOT / "pyproject.toml").read_text()
    lock = (_ROOT / "requirements.lock").read_text()
    names = [requirement.split(">")[0] for requirement in direct_requirements(project)]
    assert of_names(lock, names).count("==") >= len(names) > 10
    for name in LEFT_OUT:
        assert f'"{name}>=' in project
        assert name not in names
