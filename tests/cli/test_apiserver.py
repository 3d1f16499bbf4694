"""`elasticgpu apiserver` as a process: says where it is, serves our kinds, leaves nothing."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from elasticgpu.api.names import CLAIM_ANNOTATION
from elasticgpu.cli.main import main

POD = {
    "metadata": {"name": "web", "annotations": {f"{CLAIM_ANNOTATION}main": "train"}},
    "spec": {"containers": [{"name": "main", "image": "none"}]},
}


def asked(url: str, body: object = None) -> Any:
    """What the server answers."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


@pytest.mark.parametrize("flags", [[], ["--policies"]], ids=["kinds", "policies"])
def test_the_api_server_stands_and_goes(tmp_path: Path, flags: list[str]) -> None:
    """With the policies it also writes into pods what their annotations mean."""
    file = tmp_path / "kubeconfig"
    words = [sys.executable, "-m", "elasticgpu", "apiserver", "--write-kubeconfig", str(file)]
    with subprocess.Popen(
        [*words, *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        url = run.stdout.readline().split()[3].rstrip(",")
        assert run.stdout.readline() == f"export KUBECONFIG={file}\n"
        assert url in file.read_text()
        assert asked(f"{url}/apis/elasticgpu.io/v1alpha1/gpus")["kind"] == "GPUList"
        pod = asked(f"{url}/api/v1/namespaces/default/pods", POD)
        assert ("resourceClaims" in pod["spec"]) == bool(flags)
        run.send_signal(signal.SIGTERM)
        _, said = run.communicate(timeout=30)
    assert (run.returncode, said, file.exists()) == (0, "API server: stopped\n", False)


def test_policies_need_the_kinds() -> None:
    """They cannot be had without what they are about."""
    done = CliRunner().invoke(main, ["apiserver", "--bare", "--policies"])
    assert done.exit_code == 2
    assert "give --bare or --policies" in done.output
