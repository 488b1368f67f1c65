"""The schema of a VerticalPodAutoscalerCheckpoint, the same in both groups."""

from __future__ import annotations

from evenkeel.crd.schema import Schema, integer, number, opaque, structure, text, timestamp


def checkpoint_schema() -> Schema:
    """The whole object.

    Spec: api 2.
    """
    description = "The usage history of one container under one autoscaler, kept over a restart of the recommender."
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
