"""Released devices: given back by an admin, and offered to who waits."""
