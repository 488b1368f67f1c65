"""The controllers of the embedded cluster: what turns declared workloads into pods, and puts those on nodes."""
