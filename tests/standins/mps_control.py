"""The script that stands in for nvidia-cuda-mps-control, and the same in memory."""

from pathlib import Path

from elasticgpu.testing.mps_control import NO_DAEMON, Control, Daemon

__all__ = ["NO_DAEMON", "PROGRAM", "Control", "Daemon"]

PROGRAM = Path(__file__).with_name("nvidia-cuda-mps-control")
"""To be found on the PATH."""
