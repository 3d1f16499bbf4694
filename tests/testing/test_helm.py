"""helm on the embedded server: the chart goes in, is upgraded and leaves."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from elasticgpu.testing.apiserver import ApiServer, serving
from elasticgpu.testing.apiserver.standing import kubeconfig
from tests.chart.conftest import CHART, Helm, helm
from tests.conformance.api import Api, session

__all__ = ["helm"]

# A process waits for answers in real time.
pytestmark = pytest.mark.looptime(False)


async def test_the_chart_is_installed_upgraded_and_removed(helm: Helm, tmp_path: Path) -> None:
    config = tmp_path / "kubeconfig"
    async with serving(ApiServer()) as url, session() as connections:
        config.write_text(kubeconfig(url))
        api = Api(url, connections, "gpu")

        async def run(verb: str, *words: str) -> str:
            more = ("-n", "gpu", "--kubeconfig", str(config))
            done = await asyncio.to_thread(helm, verb, "elasticgpu", *words, *more)
            assert done.returncode == 0, done.stderr
            return done.stdout

        assert "STATUS: deployed" in await run("install", str(CHART), "--create-namespace")
        kinds = (await api.get(api.path("customresourcedefinitions"))).names
        assert len(kinds) == 5
        await api.comes("/apis/elasticgpu.io/v1alpha1/gpus")
        await api.comes("/apis/apps/v1/namespaces/gpu/deployments/elasticgpu-controller")
        assert "REVISION: 2" in await run("upgrade", str(CHART))
        assert "uninstalled" in await run("uninstall")
        assert (await api.get(api.path("secrets"))).names == []
        await api.gone("/apis/apps/v1/namespaces/gpu/deployments/elasticgpu-controller")
        assert (await api.get(api.path("customresourcedefinitions"))).names == kinds
