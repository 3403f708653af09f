"""What answers a request: the offline window reader, scripts, and any provider through litellm.

Each model is one module that owns its dependency and imports it in the function that needs it. `models.catalog` says
which one a model string means. Knows the spec and the core; is wired in by `session.open` alone.
"""
