"""The scenario ``upstream-side-by-side`` as a user plays it, in both profiles, and without upstream's programs."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from e2e.parity.process.differences import Difference, Report
from e2e.parity.process.upstream import Upstream
from evenkeel.simulator.processes.peer import FOLDER_VARIABLE

SCENARIO = "upstream-side-by-side"
_PROFILES = ("evenkeel", "upstream")
_YES, _NO = "yes  ", "NO  "
_SECONDS = 400.0
_LAST_LINES = 12
_NOT_BEGUN = 2


async def play_side_by_side(upstream: Upstream, folder: Path) -> Report:
    """Play the scenario in both profiles; every expectation is a case, and so is its refusal without the programs."""
    report = Report(f"evenkeel demo {SCENARIO}")
    # At the same time: both spend most of theirs waiting.
    await asyncio.gather(*(_play(report, one, {FOLDER_VARIABLE: str(upstream.programs)}) for one in _PROFILES))
    code, said = await _demo((), {FOLDER_VARIABLE: str(folder)})
    report.cases += 1
    if code != _NOT_BEGUN or FOLDER_VARIABLE not in said:
        wanted = f"status {_NOT_BEGUN} and a message that names {FOLDER_VARIABLE}"
        case = f"{SCENARIO} without upstream's programs"
        report.differences.append(Difference(case, "product 4", f"status {code}: {said}", wanted))
    return report


async def _play(report: Report, profile: str, environment: Mapping[str, str]) -> None:
    """Play the scenario in one profile and add what came of it."""
    code, said = await _demo((f"--profile={profile}",), environment)
    lines = [line.strip() for line in said.splitlines()]
    met = [line for line in lines if line.startswith(_YES)]
    missed = [line for line in lines if line.startswith(_NO)]
    report.cases += max(1, len(met) + len(missed))
    report.notes.append(f"profile {profile}: {len(met)} of {len(met) + len(missed)} expectations met")
    for line in missed:
        report.differences.append(Difference(f"{SCENARIO}, profile {profile}", "product 6", line, "expected"))
    if code != 0 and not missed:
        last = " | ".join(lines[-_LAST_LINES:])
        report.differences.append(Difference(f"{SCENARIO}, profile {profile}", "product 6", last, f"status {code}"))


async def _demo(flags: tuple[str, ...], environment: Mapping[str, str]) -> tuple[int, str]:
    """Run ``evenkeel demo`` and return its status and all that it said."""
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).parent / "evenkeel"),
        "demo",
        SCENARIO,
        *flags,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, **environment, "COLUMNS": "200"},
    )
    try:
        async with asyncio.timeout(_SECONDS):
            said, _ = await process.communicate()
    except TimeoutError:
        process.terminate()
        said, _ = await process.communicate()
    return process.returncode or 0, said.decode(errors="replace")
