"""Every backend on one real node: what each container sees of it."""
