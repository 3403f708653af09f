"""Python functions as tools: the definition by reflection, the call by name.

The schema comes from the signature: annotations (`Literal`, enums, dataclasses, Pydantic models), defaults, and
`Annotated[T, "description"]`; descriptions from the docstring fill the gaps. Arguments are validated and coerced by the
same types. Pydantic is imported when the first tool is loaded.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import json
import re
import sys
import threading
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ctxeng_cli.core.errors import Problem, SpecError, ToolError, nearest
from ctxeng_cli.core.request import ToolDefinition
from ctxeng_cli.spec import ToolSpec


class PythonTool:
    """A function that a model may call. Plain functions run in a thread of their own, coroutines in the event loop."""

    def __init__(self, function: Callable[..., Any], timeout_s: float = 30.0) -> None:
        from pydantic import TypeAdapter

        self.timeout_s = timeout_s
        self._function = function
        self._arguments: TypeAdapter[Any] = TypeAdapter(_typed_arguments(function))
        self.definition = _definition(function, self._arguments.json_schema())

    async def call(self, arguments: Mapping[str, Any]) -> str:
        """Validate, run, and answer text: a string as it is, None as `ok`, anything else as JSON."""
        from pydantic import ValidationError
        from pydantic_core import to_jsonable_python

        try:
            values = self._arguments.validate_python(dict(arguments))
        except ValidationError as error:
            raise ToolError(_arguments_problem(self.definition, error)) from None
        if inspect.iscoroutinefunction(self._function):
            answer = await self._function(**values)
        else:
            answer = await _in_thread(lambda: self._function(**values))
        if answer is None:
            return "ok"
        if isinstance(answer, str):
            return answer
        return json.dumps(to_jsonable_python(answer, fallback=str), ensure_ascii=False)


async def _in_thread(work: Callable[[], Any]) -> Any:
    """Run in a daemon thread, so that a call which never ends holds up neither the turn nor the exit.

    asyncio.to_thread would do, were its threads not waited for when the interpreter leaves.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(answer: Any, error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(answer)
        else:
            done.set_exception(error if isinstance(error, Exception) else RuntimeError(f"{type(error).__name__}: {error}"))

    def run() -> None:
        answer, failure = None, None
        try:
            answer = work()
        except BaseException as error:  # a tool's sys.exit() is its failure, not ours
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, answer, failure)

    threading.Thread(target=run, name="tool", daemon=True).start()
    return await done


def load_tools(specs: Sequence[ToolSpec], folder: str) -> tuple[PythonTool, ...]:
    """Import the functions that the spec names, from its folder first. Raises SpecError with the place of each that fails."""
    tools: dict[str, PythonTool] = {}
    problems: list[Problem] = []
    for spec in specs:
        try:
            tool = PythonTool(load_function(spec.python, folder), spec.timeout_s)
        except ToolError as error:
            problems.append(Problem(error.message, spec.place))
            continue
        if tool.definition.name in tools:
            problems.append(Problem(f"there are two tools named {tool.definition.name}; rename one function", spec.place))
        tools[tool.definition.name] = tool
    if problems:
        raise SpecError(problems)
    return tuple(tools.values())


def load_function(path: str, folder: str) -> Callable[..., Any]:
    """The function that `module:function` names, from a folder first. Raises ToolError."""
    if folder not in sys.path:
        sys.path.insert(0, folder or ".")
    module_name, _, name = path.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and module_name.split(".")[: error.name.count(".") + 1] == error.name.split("."):
            raise ToolError(f"there is no module {module_name} beside the spec or installed") from None
        raise ToolError(f"{module_name} can't be imported: {error}. Install it, or take the tool out.") from None
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        raise ToolError(f"{module_name} can't be imported: {type(error).__name__}: {error}") from None
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            public = [n for n in dir(value) if not n.startswith("_") and callable(getattr(value, n))]
            raise ToolError(f"{module_name} has no function {name}.{nearest(part, public)}")
        value = getattr(value, part)
    if not callable(value):
        raise ToolError(f"{path} is a {type(value).__name__}, no function")
    return typing.cast(Callable[..., Any], value)


# -- reflection ------------------------------------------------------------------------------------------------------


def _typed_arguments(function: Callable[..., Any]) -> Any:
    """A TypedDict of the function's parameters: names are then free, and unknown ones are refused."""
    from typing import NotRequired, Required  # pydantic wants these before Python 3.12

    from pydantic import ConfigDict, Field, with_config
    from typing_extensions import TypedDict

    name = getattr(function, "__name__", "tool")
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except Exception as error:
        raise ToolError(f"the annotations of {name} can't be read: {error}") from None
    described = _parameter_descriptions(inspect.getdoc(function) or "")
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise ToolError(f"{name} has the parameter {parameter}; a tool's parameters must have names")
        hint = hints.get(parameter.name, Any)
        words = [text for text in getattr(hint, "__metadata__", ()) if isinstance(text, str)]
        description = words[0] if words else described.get(parameter.name)
        if description:
            hint = typing.Annotated[hint, Field(description=description)]
        fields[parameter.name] = Required[hint] if parameter.default is parameter.empty else NotRequired[hint]
    made_at_run_time: Any = TypedDict
    return with_config(ConfigDict(extra="forbid", arbitrary_types_allowed=True))(made_at_run_time(name, fields))


def _definition(function: Callable[..., Any], schema: dict[str, Any]) -> ToolDefinition:
    from pydantic_core import to_jsonable_python

    name = getattr(function, "__name__", "tool")
    if not _NAME.fullmatch(name):
        raise ToolError(f'no provider takes a tool named {name}: only A to Z, a to z, digits, "_" and "-". Rename the function.')
    schema.pop("title", None)
    schema.setdefault("properties", {})
    for parameter in inspect.signature(function).parameters.values():
        field = schema["properties"].get(parameter.name)
        if field is not None:
            field.pop("title", None)
            if parameter.default is not parameter.empty and parameter.default is not None:
                field["default"] = to_jsonable_python(parameter.default, fallback=str)
    return ToolDefinition(name, _summary(inspect.getdoc(function) or ""), schema)


_GOOGLE = re.compile(r"\s{1,8}(\w+)(?:\s*\([^)]*\))?:\s*(.*)$")
_NUMPY = re.compile(r"(\w+)(?:\s*:.*)?()$")
_UNDERLINE = re.compile(r"-{3,}\s*$")
_NAME = re.compile("[a-zA-Z0-9_-]{1,64}")  # OC003
_SECTION = re.compile(r"^(args|arguments|parameters|params|returns?|raises|yields|examples?|notes?)\s*:?\s*$", re.IGNORECASE)


def _summary(doc: str) -> str:
    """The docstring up to its first section."""
    lines: list[str] = []
    for line in doc.splitlines():
        if _SECTION.match(line) or line.lstrip().startswith(":param"):
            break
        lines.append(line)
    return "\n".join(lines).strip()


def _parameter_descriptions(doc: str) -> dict[str, str]:
    """Descriptions of parameters in the styles of Google (`Args:`), NumPy (underlined `Parameters`) and reST (`:param x:`)."""
    found: dict[str, str] = {name: text.strip() for name, text in re.findall(r":param (?:\w+ )?(\w+):\s*(.+)", doc)}
    inside, entry, last = False, _GOOGLE, ""
    for line in doc.splitlines():
        if _SECTION.match(line):
            inside, entry, last = line.strip().lower().startswith(("arg", "param")), _GOOGLE, ""
        elif inside and _UNDERLINE.match(line):
            entry = _NUMPY
        elif inside and (named := entry.match(line)):
            last = named[1]
            found[last] = (named[2] or "").strip()
        elif inside and last and line.strip():
            found[last] = f"{found[last]} {line.strip()}".strip()
    return found


def _arguments_problem(definition: ToolDefinition, error: Any) -> str:
    """What is wrong with a call's arguments, for the model to mend."""
    known = list(definition.parameters.get("properties", {}))
    said = []
    for item in error.errors(include_url=False):
        where = ".".join(str(part) for part in item["loc"] if part != "")
        if item["type"] == "missing":
            said.append(f'the argument "{where}" is missing')
        elif item["type"] == "extra_forbidden":
            said.append(f'there is no argument "{where}"{nearest(where, known).replace(" Did", ". Did")}')
        else:
            said.append(f'"{where}": {item["msg"]}')
    faults = "; ".join(said)
    return f"{definition.name}: {faults}{'' if faults[-1] in '.?' else '.'} Arguments: {', '.join(known) or 'none'}."
