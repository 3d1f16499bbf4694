"""The simulated cluster, and what stands in for Kubernetes in it."""
