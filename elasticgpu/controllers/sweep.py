"""Sweep: finds annotated pods that admission never saw, at start and every ten minutes.

They carry no label, so no informer shows them. The label brings them to the pods loop, which
tells the person what to do.
"""

from __future__ import annotations

import asyncio
import logging

from elasticgpu.api.core import Pod
from elasticgpu.api.names import PODS_LABEL
from elasticgpu.cluster.client import Client
from elasticgpu.errors import ApiError
from elasticgpu.rules.entries import annotated

log = logging.getLogger(__name__)

EVERY = 600.0
"""Seconds between two sweeps."""


async def sweep(client: Client) -> None:
    """Look through all pods for ever, a page at a time."""
    while True:
        try:
            await once(client)
        except ApiError as error:
            log.warning("sweep for unlabelled pods failed: %s", error)
        await asyncio.sleep(EVERY)


async def once(client: Client) -> None:
    """Label every living annotated pod that has no label."""
    async for pod in client.list(Pod, label_selector=f"!{PODS_LABEL}"):
        if annotated(pod) and not pod.finished and not pod.terminating:
            log.info("pod %s/%s was not seen by admission", pod.namespace, pod.name)
            body = {"metadata": {"labels": {PODS_LABEL: "true"}, "uid": pod.uid}}
            try:
                await client.patch(Pod, pod.key, body)
            except ApiError as error:
                log.info("pod %s/%s cannot be labelled: %s", pod.namespace, pod.name, error)
