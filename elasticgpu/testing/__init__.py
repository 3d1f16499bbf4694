"""For plugin authors and for us: what stands in for a cluster in tests and demonstrations."""
