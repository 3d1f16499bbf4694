"""A real Kubernetes for tests: etcd, control plane, kubelet and containerd as child processes.

`binaries` finds or builds the programs, `images` packs what containers run, `controlplane`,
`runtime` and `node` say how each program is started, `cluster.Cluster` brings all up and down,
`api` is the client that tests talk through, `fixtures` is the pytest plugin. By hand:

    python -m tests.cluster.binaries      # build what is missing
    python -m tests.cluster up            # run a cluster until Ctrl-C
"""
