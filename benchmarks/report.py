"""The figures of a run: a table for people, one JSON object for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median

from .bench import Sample
from .latency import percentile
from .start import Start

NAMES = {
    "ceiling": "(a) bare write ceiling: four PUTs a pair",
    "volumes": "(b) Kubernetes' PV controller",
    "premade": "(c) ours, devices made ahead",
    "dynamic": "(d) ours, dynamic",
}

TIMED = (
    "from the load being there (the controller is stopped while claims are created, then let go) "
    "until a watch has shown the last claim Bound; no creates are in it, for (b), (c), (d) alike"
)


@dataclass
class Results:
    """All that was measured: samples by round, milliseconds of single claims, one start."""

    samples: Mapping[str, list[Sample]]
    milliseconds: list[float] = field(default_factory=list)
    start: Start | None = None

    def rate(self, name: str) -> float:
        """Median of binds a second."""
        return median(sample.rate for sample in self.samples[name])

    def ratio(self, name: str, to: str) -> float:
        """Of two medians."""
        return self.rate(name) / self.rate(to)

    def writes(self, *, own: bool) -> float:
        """Of the round of ours that wrote most a bind."""
        ours = self.samples["premade"] + self.samples["dynamic"]
        return max(sample.written(own=own) for sample in ours)

    def table(self) -> Iterator[str]:
        """Lines for people."""
        yield f"Timed: {TIMED}."
        yield f"{'':44} {'binds/s: each round':24} {'median':>7} CPU ms a bind"
        for name, samples in self.samples.items():
            rates = "  ".join(f"{sample.rate:6.1f}" for sample in samples)
            cpu = "  ".join(f"{who} {ms:.1f}" for who, ms in _cpu(samples).items())
            yield f"{NAMES[name]:44} {rates:24} {self.rate(name):7.1f} {cpu}"
        for title, value, goal in self._figures():
            yield f"{title:44} {value:8.2f}  {goal}"

    def _figures(self) -> Iterator[tuple[str, float, str]]:
        yield "bind / ceiling, (c) / (a)", self.ratio("premade", "ceiling"), "goal >= 0.8"
        yield "bind / PV controller, (c) / (b)", self.ratio("premade", "volumes"), "goal >= 2"
        yield "dynamic / ceiling, (d) / (a)", self.ratio("dynamic", "ceiling"), "goal >= 0.8"
        yield "(e) one claim to Bound, p50 ms", percentile(self.milliseconds, 50), ""
        yield "(e) one claim to Bound, p99 ms", percentile(self.milliseconds, 99), "goal <= 150"
        if self.start:
            yield "(f) start to first decision, s", self.start.seconds, "goal <= 10"
            yield "(f) resident KiB an object", self.start.kib, "goal <= 25"
        yield "(g) writes a bind", self.writes(own=True), "goal <= 4.05"
        yield "(g) writes to anything else, a bind", self.writes(own=False), ""

    def line(self) -> str:
        """The JSON object."""
        return json.dumps(
            {
                "bind_vs_ceiling": round(self.ratio("premade", "ceiling"), 3),
                "bind_vs_pv_controller": round(self.ratio("premade", "volumes"), 3),
                "dynamic_vs_ceiling": round(self.ratio("dynamic", "ceiling"), 3),
                "bind_latency_p99_ms": round(percentile(self.milliseconds, 99), 1),
                "start_10k_s": round(self.start.seconds, 2) if self.start else None,
                "kib_per_object": round(self.start.kib, 2) if self.start else None,
                "writes_per_bind": round(self.writes(own=True), 4),
                "other_writes_per_bind": round(self.writes(own=False), 4),
                "raw": self.raw(),
            }
        )

    def raw(self) -> dict[str, object]:
        """Everything else."""
        rounds = {
            name: [
                {"seconds": round(s.seconds, 3), "rate": round(s.rate, 1), "writes": s.writes}
                for s in samples
            ]
            for name, samples in self.samples.items()
        }
        cpu = {name: _cpu(samples) for name, samples in self.samples.items()}
        return {
            "timed": TIMED,
            "binds": {name: samples[0].count for name, samples in self.samples.items()},
            "rounds": rounds,
            "cpu_ms_per_bind": cpu,
            "latency_p50_ms": round(percentile(self.milliseconds, 50), 1),
            "latency_ms": [round(ms, 1) for ms in self.milliseconds],
            "resident_kib": self.start.resident if self.start else None,
        }


def _cpu(samples: list[Sample]) -> dict[str, float]:
    """Milliseconds a bind by process, medians."""
    return {
        who: round(median(1000 * s.cpu[who] / s.count for s in samples), 2)
        for who in samples[0].cpu
    }
