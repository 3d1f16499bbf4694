"""Provisioning by a plugin that asks somebody else, over an API server in memory.

Numbers are the scenarios of Kubernetes' PersistentVolume tests.
"""
