"""The schema of a VerticalPodAutoscalerCheckpoint."""

from __future__ import annotations

from evenkeel.crd.schema import Schema, array, integer, number, opaque, structure, text, timestamp


def checkpoint_schema(*, has_windows: bool) -> Schema:
    """The whole object.

    Args:
        has_windows: Whether running memory windows have a field; the definition of upstream's group has none.

    Spec: api 2, beyond B-2.
    """
    description = "The usage history of one container under one autoscaler, kept over a restart of the recommender."
    windows: dict[str, Schema] = {"runningWindows": _windows()} if has_windows else {}
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
                    **windows,
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
