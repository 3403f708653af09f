"""Write docs/schemas/ from the code: `python docs/write_schemas.py`. A test keeps what lies there up to date."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ctxeng_cli.core.schema import context_schema, event_schema
from ctxeng_cli.spec import json_schema

SCHEMAS: dict[str, Any] = {"agents": json_schema, "event": event_schema, "context": context_schema}


def texts() -> dict[str, str]:
    """File name → content."""
    return {f"{name}.schema.json": json.dumps(make(), indent=2) + "\n" for name, make in SCHEMAS.items()}


if __name__ == "__main__":
    for name, text in texts().items():
        (Path(__file__).parent / "schemas" / name).write_text(text, encoding="utf-8")
