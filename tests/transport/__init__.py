"""The transport room against a scripted server on loopback."""
