"""What the API server itself refuses, and the sentence a person reads: the CRDs on a real server.

Nobody else takes part: no controller, no webhook. The tables are the contract of
`crd_rules.py` and `request_rules.py`.
"""
