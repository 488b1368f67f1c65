"""``evenkeel demo``: plays a scenario on a simulated cluster with the three real processes."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import tempfile
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from autoscaling.behaviour import Profile
from autoscaling.errors import ConfigurationError
from evenkeel.simulator.processes.peer import PeerMissingError, peer_folder
from evenkeel.simulator.scenarios import library
from evenkeel.simulator.scenarios.document import Scenario, Time
from evenkeel.simulator.scenarios.happenings import Happening
from evenkeel.simulator.scenarios.reading import ScenarioError, read_scenario
from evenkeel.simulator.scenarios.recording import Recording
from evenkeel.simulator.scenarios.running import Result, Run, Watching
from evenkeel.simulator.scenarios.stage import StageSettings
from evenkeel.simulator.view import Lines, Screen, Viewer, report

HELP = """Play a scenario on a simulated cluster with the three real processes.

\b
Exit status:
  0  the expected end state was reached
  1  it was not
  2  the scenario could not begin

\b
Examples:
  evenkeel demo
  evenkeel demo oom --speed max
  evenkeel demo deferred-then-evicted --keep
"""

_NOT_REACHED, _NOT_BEGUN = 1, 2
_SECONDS_AT_A_TERMINAL = 30.0
_REAL_SPEED = 1.0
_AT_MOST = "max"


class SpeedError(ConfigurationError):
    """A speed that a scenario cannot be played at."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What was asked for.

    Args:
        scenario: What is played.
        folder: Where its own files are.
        profile: Profile of the processes.
        seed: Of everything that is left to chance.
        speed: Simulated seconds in a second; None for as many as possible.
        keep: Whether the cluster stays up afterwards.
        record: File for a recording; None for none.
    """

    scenario: Scenario
    folder: Path
    profile: Profile
    seed: int
    speed: float | None
    keep: bool
    record: Path | None


def scenarios(incomplete: str) -> list[str]:
    """Return the names of built-in scenarios that begin so."""
    return [name for name in library.names() if name.startswith(incomplete)]


def read_speed(given: str) -> float:
    """Read how many simulated seconds may pass in a second; as many as possible are without limit.

    Raises:
        typer.BadParameter: It is neither a number above zero nor ``max``.
    """
    if given == _AT_MOST:
        return math.inf
    try:
        factor = float(given)
    except ValueError:
        factor = math.nan
    if not math.isfinite(factor):
        raise typer.BadParameter(
            f"{given!r} is no number of simulated seconds in a second; write for example 60, 0.5 or {_AT_MOST}"
        )
    if factor <= 0:
        raise typer.BadParameter(
            f"at {given} the clock would never come forward; use a number above zero, or {_AT_MOST}"
        )
    return factor


def run(
    scenario: Annotated[
        str, typer.Argument(help="Name of a built-in scenario; --list names them.", autocompletion=scenarios)
    ] = "burn",
    *,
    profile: Annotated[Profile, typer.Option(help="Profile of the three processes.")] = Profile.EVENKEEL,
    speed: Annotated[
        float | None,
        typer.Option(
            parser=read_speed,
            metavar="FACTOR|max",
            help="Simulated seconds in a second, at most; max for as many as possible. By default a run takes about "
            "half a minute at a terminal, and no longer than it must elsewhere. A scenario with time: real knows no "
            "speed but 1.",
        ),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the cluster up afterwards, for kubectl.")] = False,
    record: Annotated[Path | None, typer.Option(help="Write everything that happens to this file.")] = None,
    file: Annotated[Path | None, typer.Option(help="Play the scenario in this file.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same run.")] = 0,
    list_them: Annotated[bool, typer.Option("--list", help="Name the built-in scenarios and end.")] = False,
) -> None:
    """Play a scenario; the status is 0 only if its expected end state was reached, 2 if it could not begin."""
    console = Console()
    if list_them:
        for name in library.names():
            console.print(f"{name:24} {library.load(name).title}", highlight=False, soft_wrap=True)
        return
    try:
        played = read_scenario(file) if file is not None else library.load(scenario)
        if played.peer:
            peer_folder(os.environ)
        pace = pace_of(speed, played, at_terminal=console.is_terminal)
    except (ScenarioError, PeerMissingError, SpeedError) as error:
        typer.echo(f"evenkeel: {error}", err=True)
        raise typer.Exit(_NOT_BEGUN) from None
    folder = file.parent if file is not None else library.FOLDER
    wishes = Wishes(played, folder, profile, seed, pace, keep, record)
    with suppress(asyncio.CancelledError, KeyboardInterrupt):
        raise typer.Exit(0 if asyncio.run(_play(console, wishes)) else _NOT_REACHED)
    raise typer.Exit(_NOT_REACHED)


def pace_of(asked: float | None, scenario: Scenario, *, at_terminal: bool) -> float | None:
    """Return how fast simulated time may pass, None for as fast as possible.

    Raises:
        SpeedError: The scenario lives by the machine's time, which has but one speed.
    """
    if scenario.time is Time.REAL:
        if asked not in {None, _REAL_SPEED}:
            raise SpeedError(
                f"--speed: {scenario.title!r} runs in the machine's own time (time: real), a second in a second, as it "
                "has programs that know no other; leave --speed out, or set time: lockstep in a scenario of our "
                "processes alone"
            )
        return None
    if asked is not None:
        return None if math.isinf(asked) else asked
    return max(1.0, scenario.duration.total_seconds() / _SECONDS_AT_A_TERMINAL) if at_terminal else None


async def _play(console: Console, wishes: Wishes) -> bool:
    """Play a scenario and return whether the expected end state was reached."""
    task = asyncio.current_task()
    assert task is not None
    # Told to end, everything is taken down in order first, the processes above all.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    viewer: Viewer = Screen(console, wishes.scenario, wishes.profile) if console.is_terminal else Lines(console)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="evenkeel-demo-")))
        recording = stack.enter_context(Recording(wishes.record.open("wb"))) if wishes.record is not None else None
        if recording is not None:
            recording.begin(wishes.scenario, wishes.profile, wishes.seed)

        def take(happening: Happening) -> None:
            viewer.take(happening)
            if recording is not None:
                recording.take(happening)

        settings = StageSettings(wishes.profile, folder, wishes.seed)
        watching = Watching(take, viewer.begin, viewer.tick)
        playing = Run(wishes.scenario, settings, watching, wishes.folder, wishes.speed)
        with viewer:
            async with playing:
                result = await playing.play()
                if recording is not None:
                    recording.end(result.outcomes)
                if wishes.keep:
                    await _keep(console, playing, result, folder)
        if not wishes.keep:
            _show(console, result)
        return result.holds


async def _keep(console: Console, playing: Run, result: Result, folder: Path) -> None:
    """Leave the cluster up, at the pace of real time, until the user interrupts it."""
    cluster, endpoint = playing.stage.cluster, playing.stage.endpoint
    kubeconfig = endpoint.write_kubeconfig(folder / "admin.kubeconfig", cluster.admin_token)
    _show(console, result)
    console.print(
        f"\nThe cluster is up until Ctrl-C. In another terminal:\n  export KUBECONFIG={kubeconfig}", soft_wrap=True
    )
    console.print("  kubectl get pods,evpa", highlight=False)
    playing.speed = _REAL_SPEED
    with suppress(asyncio.CancelledError):
        await playing.pass_time()


def _show(console: Console, result: Result) -> None:
    """Print the outcome."""
    for part in report(result):
        console.print()
        console.print(part, highlight=False)
