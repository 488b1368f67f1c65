"""Procedures that take time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from evenkeel.simulator.clock import ManualClock, Timer
from evenkeel.simulator.kubelet.script import Gate, Script, Steps

SECOND = timedelta(seconds=1)


class Stage:
    """Plays procedures on a clock and notes what they do."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.notes: list[str] = []

    def later(self, delay: timedelta, callback: Callable[[], None]) -> Timer:
        return self.clock.call_at(self.clock.now() + delay, callback)

    def play(self, steps: Steps) -> Script:
        script = Script(steps, self.later, lambda: self.notes.append("done"))
        script.run()
        return script


def test_a_procedure_goes_on_when_its_time_has_come() -> None:
    stage = Stage()

    def steps() -> Steps:
        stage.notes.append("begun")
        yield 2 * SECOND
        stage.notes.append("middle")
        yield SECOND

    stage.play(steps())
    assert stage.notes == ["begun"]
    stage.clock.advance(2 * SECOND)
    assert stage.notes == ["begun", "middle"]
    stage.clock.advance(SECOND)
    assert stage.notes == ["begun", "middle", "done"]


def test_a_procedure_that_is_called_off_never_ends() -> None:
    stage = Stage()

    def steps() -> Steps:
        yield SECOND
        stage.notes.append("never")

    stage.play(steps()).call_off()
    stage.clock.advance(2 * SECOND)
    assert stage.notes == []


def test_a_procedure_may_call_itself_off() -> None:
    stage = Stage()
    scripts: list[Script] = []

    def steps() -> Steps:
        yield SECOND
        scripts[0].call_off()

    scripts.append(stage.play(steps()))
    stage.clock.advance(SECOND)
    assert stage.notes == []


def test_a_gate_lets_everybody_pass_once_it_is_open() -> None:
    stage, gate = Stage(), Gate()

    def steps() -> Steps:
        yield gate

    stage.play(steps())
    assert stage.notes == []
    gate.open()
    assert (stage.notes, gate.is_open) == (["done"], True)
    stage.play(steps())
    assert stage.notes == ["done", "done"]
