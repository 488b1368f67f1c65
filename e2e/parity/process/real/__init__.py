"""Copies of a cluster on real API servers and one etcd, without controllers and without a kubelet."""
