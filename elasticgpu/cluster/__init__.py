"""The cluster as the library sees it: one HTTP client, caches, a queue, a lease and events."""
