"""Configurations of NVIDIA's device plugin and of mig-parted, as what is applied for them."""
