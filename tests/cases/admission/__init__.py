"""What the API server itself does to pods and refuses to agents: the chart's policies, for real.

Nobody else takes part: no controller, no agent. The tables are the contract of
`helm/elasticgpu/templates/admission-*.yaml`.
"""
