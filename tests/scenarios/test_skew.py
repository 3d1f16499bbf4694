"""Claims that wait for pods, with an API server whose clock is not the controllers'.

Pods get their dates from the server, conditions from the controllers, and the two may differ by
minutes: what it comes to is the same. Faults are left out: they have nothing to do with clocks.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from .consumer import ALONE, ON_D1, OURS, REFUSED, SCENARIOS
from .embedded import embedded_site
from .objects import pod
from .run import Run, Unsettled, judge_reordered
from .scenario import Scenario, create, edit, later, together

pytestmark = pytest.mark.looptime(noop_cycles=0)  # nothing comes from outside of the loop

NEXT_POD = Scenario(
    64,
    case="the next pod is held to nothing",
    given=ON_D1,
    when=[edit("pod web", {"status": {"conditions": [REFUSED]}})],
    before={
        "claim train": together(
            later(2), edit("pod web", {"status": {"phase": "Failed"}}), create(pod("next", "train"))
        )
    },
    then={"claim train": f"{ALONE.format('d1')} with next", "device d1": OURS},
    fields={"claim train status.excludedNodes": "", "claim train status.excludedFor": ""},
)
"""n1 was tried in vain for a pod that has ended: the next one may well run there."""
ROWS = [NEXT_POD, *SCENARIOS]


@pytest.mark.parametrize("ahead", [-90, 90], ids=lambda seconds: f"{seconds:+}s")
@pytest.mark.parametrize("scenario", ROWS, ids=lambda scenario: scenario.title)
async def test_scenario(in_process: None, tmp_path: Path, scenario: Scenario, ahead: int) -> None:
    """It ends as it should, with the server's clock so many seconds ahead."""
    site = await embedded_site(tmp_path, ahead=timedelta(seconds=ahead))
    try:
        result = await Run(site, scenario, scenario.own).go()
    except Unsettled as error:
        pytest.fail(str(error), pytrace=False)
    wrong = result.wrong if scenario is NEXT_POD else judge_reordered(scenario, result)
    assert not wrong
