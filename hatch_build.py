"""Ships the starter project inside the wheel, for `ctxeng init`. An editable install reads it from the top level instead."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

STARTER = ("agents.yaml", "prompts", "agent_tools")


class Starter(BuildHookInterface[Any]):
    """A wheel that lacks a piece of it is not built; an editable one would otherwise hold a copy that grows old."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            build_data["force_include"].update({name: f"ctxeng_cli/starter/{name}" for name in STARTER})
