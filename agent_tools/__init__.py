"""The tools of the starter agents: plain typed functions, found by `python: agent_tools.weather:climate` in agents.yaml.

Nothing in here knows ctxeng. What a model is told of a tool comes from the function itself: its name, the first sentence
of its docstring, the annotations (a `Literal` becomes an enum) and the text beside a type in `Annotated`.
"""
