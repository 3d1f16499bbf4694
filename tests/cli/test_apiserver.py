"""`elasticgpu apiserver` as a process: says where it is, serves our kinds, leaves nothing."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path


def test_the_api_server_stands_and_goes(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    words = [sys.executable, "-m", "elasticgpu", "apiserver", "--write-kubeconfig", str(file)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        url = run.stdout.readline().split()[3].rstrip(",")
        assert run.stdout.readline() == f"export KUBECONFIG={file}\n"
        assert url in file.read_text()
        with urllib.request.urlopen(
            f"{url}/apis/elasticgpu.io/v1alpha1/gpus", timeout=30
        ) as answer:
            assert json.load(answer)["kind"] == "GPUList"
        run.send_signal(signal.SIGTERM)
        _, said = run.communicate(timeout=30)
    assert (run.returncode, said, file.exists()) == (0, "API server: stopped\n", False)
