"""`elasticgpu demo`: the whole system in one process, on an embedded API server.

`script` says what is shown and what has to come of it, `show` does it.
"""
