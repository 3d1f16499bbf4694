"""One claim's provisioner at work: asked for the device, or to release what cannot be stored."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.errors import Refused
from elasticgpu.rules import checking
from elasticgpu.rules.answers import Answer, Kind
from elasticgpu.rules.provisioning import ProgressView
from elasticgpu.rules.requests import build

from .asking import Asking
from .plugins import Plugin
from .works import Work, recall


@dataclass(eq=False)
class Attempt:
    """What this process knows of a claim in progress beyond what is written down.

    `unwanted` was made and cannot be stored.
    """

    making: Asking
    cleaning: Asking
    unwanted: ElasticGPU | None = None

    def ask(self, work: Work, plugin: Plugin) -> None:
        """Call `provision` with what is written down."""
        work.asked = True
        request = recall(work.claim, work.request)
        asked = build(plugin.name, request)

        def understand(answer: object) -> Answer:
            try:
                return Answer(Kind.DONE, device=checking.check(answer, asked))
            except Refused as error:
                self._unwant(checking.remains(answer, asked))
                return Answer(Kind.REFUSED, f"{plugin.name}: {error.reason}")

        def call() -> Awaitable[ElasticGPU]:
            parameters = request.gpu_class.spec.parameters
            return plugin.provisioner.tuned(parameters).provision(request)

        self.making.start(plugin, call, understand)

    def reject(self, device: ElasticGPU, words: str) -> None:
        """What was made cannot be stored: it is to be released, and its maker has refused."""
        self._unwant(device)
        self.making.answer = Answer(Kind.REFUSED, words)

    def _unwant(self, device: ElasticGPU) -> None:
        self.unwanted, self.cleaning.answer = device, None

    def undo(self, device: ElasticGPU, plugin: Plugin) -> None:
        """Call `release` for it."""
        self.cleaning.start(plugin, lambda: plugin.release(device))

    def view(
        self, work: Work, claim: ElasticGPUClaim | None, *, stored: bool, installed: bool
    ) -> ProgressView:
        """What decides, with what the calls answered meanwhile."""
        answer, cleanup = self.making.look(), self.cleaning.look()
        if cleanup is not None and cleanup.kind in (Kind.DONE, Kind.FOREIGN):
            self.unwanted = None
        return ProgressView(
            request=work.request,
            claim=claim,
            asked=work.asked,
            answer=answer,
            unwanted=self.unwanted,
            cleanup=cleanup,
            stored=stored,
            installed=installed,
            calling=self.making.calling or self.cleaning.calling,
            due=(self.making if self.unwanted is None else self.cleaning).due,
        )


def attempt(wake: Callable[[float], None]) -> Attempt:
    """The first look at a claim in progress; `wake(seconds)` has another."""
    return Attempt(Asking(wake), Asking(wake))
