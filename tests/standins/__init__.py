"""Programs and libraries of a GPU node, made by these tests: none of them is NVIDIA's."""
