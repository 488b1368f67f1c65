"""Tests against real components: a real control plane and kubelets, and upstream's own binaries as the peer."""
