"""The 65 scenarios of the PersistentVolume machinery, on two API servers, with faults.

Each runs once without a fault. Then it runs once for every write of that run with the process
gone after it, once with that write's answer lost, once with the write itself lost, and with old
caches. Every run has to end in the same state, with the auditor silent. All of this is played on
the embedded API server, in virtual time; on the real one every scenario runs without a fault, and a
sample of the rest, drawn by the rule in `sample.py` (`--all-faults`: all). Last, on the embedded
one, in other orders of what the controllers do side by side (`--orders`, `--order`).

To add a scenario, write a row into the module of its theme (a new module goes into `themes.py`):

    Scenario(
        30,                                     # its number in upstream.txt
        case="then claimRef is cleared",        # if the number has several rows
        given=[claim("train", names="d1", completed=True, phase="Bound"),
               device("d1", owner="train", phase="Bound")],
        when=[delete("claim train"), edit("device d1", {"spec": {"claimRef": None}})],
        then={"device d1": "Available"},        # every claim and device there is at the end
        writes=["claim train", "device d1 status", "device d1 status"],
        events=[],
    )

`objects.py` has the builders, `scenario.py` the steps and what the fields mean. In text that goes
to the server `~` stands for the run's mark and `<train>` for the uid of claim `train`; the builders
write both. `then` speaks in the lines of `world.summary`: phase, the other half, marks, reason. The
first run prints what it wrote, said and ended in wherever that is not what the row says; look at
it, and copy it only if it is right. Where ours differs from upstream on purpose, say how in
`words.py`. `make scenarios` runs this folder alone; `ARGS="-k '[07'"` one number,
`ARGS=--all-faults` everything on both servers.
"""
