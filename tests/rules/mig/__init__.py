"""Where MIG instances go, and that it is nowhere but where NVIDIA's published layouts have them."""
