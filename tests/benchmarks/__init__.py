"""The benchmarks measure what they say: on little, and by counts, never by time."""
