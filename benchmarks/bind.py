"""How fast claims are bound, beside Kubernetes' PV controller and beside what the server can do.

All on one real API server in one run, the rounds interleaved; the last line is one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from elasticgpu.cli.running import loop_factory
from tests.cluster.process import terminate_as_interrupt

from . import rounds
from .bench import Bench, Sample, fresh_server
from .latency import latencies
from .report import Results
from .server import say
from .start import start

ROUNDS = (rounds.ceiling, rounds.volumes, rounds.premade, rounds.dynamic)


@dataclass(frozen=True)
class Plan:
    """How much is measured: binds a round, rounds, single claims, and pairs at a start."""

    binds: int = 1000
    rounds: int = 3
    singles: int = 200
    pairs: int = 10_000


QUICK = Plan(binds=100, rounds=1, singles=20, pairs=500)


async def measure(plan: Plan) -> Results:
    """Everything, on a server of its own."""
    async with fresh_server() as bench:
        return await _measure(bench, plan)


async def _measure(bench: Bench, plan: Plan) -> Results:
    samples: dict[str, list[Sample]] = {part.__name__: [] for part in ROUNDS}
    for number in range(plan.rounds):
        for part in ROUNDS:
            sample = await part(bench, plan.binds)
            samples[part.__name__].append(sample)
            said = f"{part.__name__:8} {sample.rate:6.1f} binds/s"
            say(f"round {number + 1} of {plan.rounds}: {said}")
    results = Results(samples)
    results.milliseconds = await latencies(bench, plan.singles)
    say(f"{plan.singles} single claims measured")
    results.start = await start(bench, plan.pairs)
    say(f"started with {plan.pairs} devices and claims")
    return results


def main(words: Sequence[str] | None = None) -> int:
    """The command. 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bind", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few of everything, in a minute")
    parser.add_argument("--rounds", type=int, help=f"default: {Plan.rounds}")
    parser.add_argument("--binds", type=int, help=f"in a round; default: {Plan.binds}")
    asked = parser.parse_args(words)
    plan = QUICK if asked.quick else Plan()
    plan = Plan(asked.binds or plan.binds, asked.rounds or plan.rounds, plan.singles, plan.pairs)
    try:
        with terminate_as_interrupt(), asyncio.Runner(loop_factory=loop_factory()) as runner:
            results = runner.run(measure(plan))
    except KeyboardInterrupt:
        say("stopped")
        return 130
    for line in results.table():
        print(line)
    print(results.line())
    return 0


if __name__ == "__main__":
    sys.exit(main())
