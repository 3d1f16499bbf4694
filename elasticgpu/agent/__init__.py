"""On the node: publishes its cards, prepares devices, hands them to containers."""
