"""The schema of a VerticalPodAutoscalerCheckpoint."""

from __future__ import annotations

from evenkeel.crd.schema import Schema, array, integer, number, opaque, structure, text, timestamp


def checkpoint_schema(*, is_own: bool) -> Schema:
    """The whole object.

    Args:
        is_own: Whether it is of the own group, in which running memory windows and what strategies have seen have
            fields; the definition of upstream's group has none.

    Spec: api 2, beyond B-2, beyond B-10.
    """
    description = "The usage history of one container under one autoscaler, kept over a restart of the recommender."
    further: dict[str, Schema] = {"runningWindows": _windows(), "strategy": _strategy()} if is_own else {}
    return structure(
        description,
        {
            "apiVersion": text("Group and version of this object."),
            "kind": text("Kind of this object."),
            "metadata": {"type": "object"},
            "spec": structure(
                "Whose history this is.",
                {
                    "vpaObjectName": text("Name of the autoscaler, in this object's namespace."),
                    "containerName": text("Name of the container."),
                },
            ),
            "status": structure(
                "The history.",
                {
                    "lastUpdateTime": timestamp("When this was written.", nullable=True),
                    "version": text("Version of the format."),
                    "cpuHistogram": _histogram("Distribution of CPU use."),
                    "memoryHistogram": _histogram("Distribution of memory peaks."),
                    "firstSampleStart": timestamp("Time of the oldest sample.", nullable=True),
                    "lastSampleStart": timestamp("Time of the newest sample.", nullable=True),
                    "totalSamplesCount": integer("Samples taken since the oldest one."),
                    **further,
                },
            ),
        },
    )


def _histogram(description: str) -> Schema:
    return structure(
        description,
        {
            "referenceTimestamp": timestamp("Time at which a new sample has weight one.", nullable=True),
            "bucketWeights": opaque("Weight by bucket number, scaled so that the largest is 10000; no zeros."),
            "totalWeight": number("Sum of all weights before scaling."),
        },
    )


def _windows() -> Schema:
    fields = {
        "pod": text("Name of the pod."),
        "peakBytes": integer("Memory that stands for the window: the most in use, or the need that a kill showed."),
        "usagePeakBytes": integer("The most in use, without kills."),
        "windowEnd": timestamp("When the window ends."),
        "lastSample": timestamp("When memory was last seen."),
    }
    return array(
        "Memory windows that had not ended, of single pods; their peaks are not in memoryHistogram.",
        structure("The window of one pod's container.", fields),
    )


def _strategy() -> Schema:
    return structure(
        "What the strategy that the autoscaler names has kept of the container; of vpa-default there is nothing here.",
        {"name": text("Name of the strategy."), "state": opaque("In the strategy's own form.")},
    )
