"""The kinds: what they read, keep and write, without any server."""
