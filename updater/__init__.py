"""The updater: brings running pods to their recommendation, in place where possible."""
