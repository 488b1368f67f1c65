"""The recommender's own objects as they travel: checkpoints, pod metrics, eviction events."""
