"""The Kubernetes whose behaviour is served here."""

VERSION = "v1.36.3"
