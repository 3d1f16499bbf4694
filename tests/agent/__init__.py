"""The node agent, with a fake kubelet in front and a fake API server behind it."""
