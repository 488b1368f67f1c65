"""Resources of which no sample was seen are not recommended; one that is seen alone is, with its own confidence."""

from __future__ import annotations

from datetime import datetime

from autoscaling.behaviour import Behaviour, Profile
from recommender.checkpointing import checkpoints_of, load_checkpoints
from recommender.garbage import collect
from recommender.instants import instant
from recommender.samples import MISSING, UsageColumns
from tests.builders import T0, printed
from tests.recommender.scene import DAY, MINUTE, UPSTREAM, Scene, integers, of_one_container, pod, vpa

OWN = Behaviour.of(Profile.EVENKEEL)


def tell(scene: Scene, at: datetime, cpu: int, memory: int) -> None:
    """Take in one fetch of the only container."""
    columns = UsageColumns(integers(scene.row()), integers(instant(at)), integers(cpu), integers(memory))
    scene.model.take_usage(columns, T0)


def target(scene: Scene, behaviour: Behaviour = OWN) -> dict[str, str] | None:
    entry = scene.recommendation(behaviour=behaviour).of("main")
    return None if entry is None else printed(entry.target)


def test_nothing_seen_nothing_recommended() -> None:
    """Spec: recommender:E4."""
    scene = of_one_container()
    assert target(scene) is None
    assert target(scene, UPSTREAM) == {"cpu": "25m", "memory": "250Mi"}


def test_a_resource_that_is_seen_alone_is_recommended_alone() -> None:
    """Spec: recommender:E4, recommender:13.14."""
    scene = of_one_container()
    tell(scene, T0, MISSING, 10**9)
    assert target(scene) == {"memory": "1168723596"}
    scene = of_one_container()
    tell(scene, T0, 1000, MISSING)
    assert target(scene) == {"cpu": "1168m"}


def test_bounds_of_memory_that_is_seen_alone_draw_near_as_its_history_grows() -> None:
    """Spec: recommender:4.2: they are those that it would have beside a CPU that is told to be idle."""
    scene = of_one_container()
    for minutes in range(0, 2881, 10):
        tell(scene, T0 + minutes * MINUTE, MISSING, 10**9)
    dense = of_one_container()
    for minutes in range(0, 2881, 10):
        tell(dense, T0 + minutes * MINUTE, 0, 10**9)
    bounds, wanted = (s.recommendation(behaviour=OWN).of("main") for s in (scene, dense))
    assert bounds is not None
    assert wanted is not None
    for own, other in ((bounds.lower_bound, wanted.lower_bound), (bounds.upper_bound, wanted.upper_bound)):
        assert printed(own or {}) == {"memory": printed(other or {})["memory"]}


def test_a_history_of_memory_alone_lasts_while_it_grows() -> None:
    """Spec: recommender:3.4."""
    scene = of_one_container()
    for days in range(10):
        tell(scene, T0 + days * DAY, MISSING, 10**9)
    assert collect(scene.model, (), T0 + 9 * DAY) == 0
    assert target(scene) == {"memory": "1168723596"}
    assert collect(scene.model, (), T0 + 17 * DAY) == 1, "eight days after its last sample"


def test_a_history_of_memory_alone_survives_a_restart() -> None:
    """Spec: recommender:6.4."""
    scene = of_one_container()
    for days in range(3):
        tell(scene, T0 + days * DAY, MISSING, 10**9)
    ((stored,),) = checkpoints_of(scene.model, [scene.tracked()], T0 + 2 * DAY)
    restarted = Scene().follow(vpa()).observe(pod())
    assert load_checkpoints(restarted.model, [stored], T0 + 2 * DAY) == ()
    assert target(restarted) == target(scene) == {"memory": "1168723596"}
