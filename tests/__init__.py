"""Tests of elasticgpu, by room; see `tests/cluster` for the real Kubernetes they run against."""
