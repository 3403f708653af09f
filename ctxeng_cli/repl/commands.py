"""Slash commands: one table, from which help, completion and dispatch come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxeng_cli.core.errors import CtxengError, nearest
from ctxeng_cli.spec import parse_policy
from ctxeng_cli.spec.policy import PolicyError

if TYPE_CHECKING:
    from ctxeng_cli.repl.loop import Repl


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command. `run` gets the REPL and what stands behind the name; it answers True to leave."""

    name: str
    argument: str
    help: str
    run: Callable[[Repl, str], bool | None]
    words: tuple[str, ...] = ()
    """What the argument may be, for completion."""


def _help(repl: Repl, argument: str) -> None:
    repl.print_rows("commands", [(f"/{c.name} {c.argument}".strip(), c.help) for c in COMMANDS.values()])
    repl.print("Anything else is said to the agent. Alt+Enter: a new line. Ctrl-C: cancel the turn. Ctrl-D: leave.")


def _context(repl: Repl, argument: str) -> None:
    if argument and not argument.isdigit():
        repl.print("/context takes the number of a request, for example /context 3")
        return
    repl.show_context(int(argument) if argument else None)


def _tools(repl: Repl, argument: str) -> None:
    agent = repl.session.agent
    if not agent.tools:
        repl.print(f"{agent.spec.name} has no tools.")
        return
    repl.print_tools(
        [
            {"name": tool.name, "tokens": agent.weight(tool), "description": next(iter(tool.description.splitlines()), "")}
            for tool in (tool.definition for tool in agent.tools.values())
        ]
    )


def _session(repl: Repl, argument: str) -> None:
    session = repl.session
    state, history = session.journal.state, session.wires.history(session.agent)
    policy = session.agent.spec.policy
    repl.print_rows(
        "session",
        [
            ("id", session.id),
            ("log", session.log.place if session.log else ""),
            ("agent", f"{session.agent.spec.name}, model {session.agent.spec.model.model}"),
            ("window", f"{policy}: {history.window_tokens:,} tokens in {history.window_count} messages"),
            ("turns", f"{state.turn}, {history.requests} requests"),
            ("ghosts", f"{len(history.ghosts)} messages have left the window"),
            ("go on", f"ctxeng chat {session.agent.spec.name} --session {session.id}"),
        ],
    )


def _window(repl: Repl, argument: str) -> None:
    if not argument:
        repl.print(
            f"window: {repl.session.agent.spec.policy}. Change it with /window tokens:4000, messages:20, unlimited or none."
        )
        return
    try:
        policy = parse_policy(argument)
    except PolicyError as error:
        repl.print(error.message)
        return
    repl.session.set_window(policy)
    repl.print(f"window: {policy} from the next turn on")


def _view(repl: Repl, argument: str) -> None:
    if argument not in ("full", "bar", "off"):
        repl.print(
            f"view: {repl.screen.view}. /view full, bar or off.{nearest(argument, ('full', 'bar', 'off')) if argument else ''}"
        )
        return
    repl.screen.view = argument
    repl.print(f"view: {argument}")


def _retry(repl: Repl, argument: str) -> None:
    repl.retry()


def _clear(repl: Repl, argument: str) -> None:
    count = sum(len(e.ids) for e in repl.session.wires.history(repl.session.agent).exchanges)
    repl.session.clear()
    repl.print(
        f"{count} messages left the window; they stay in the log of {repl.session.id}."
        if count
        else "the window is empty already"
    )


def _restore(repl: Repl, argument: str) -> None:
    if not argument:
        repl.print("/restore takes the id of a ghost, for example /restore m2; /context shows them")
        return
    back = repl.session.restore(argument)
    repl.print(f"back in the window, and kept: {', '.join(back)}")


def _exit(repl: Repl, argument: str) -> bool:
    return True


_ALL = (
    Command("help", "", "what can be typed here", _help),
    Command("context", "[request]", "the window, part by part; ghosts with what removed them", _context),
    Command("tools", "", "what the agent can call, and what each definition costs", _tools),
    Command("session", "", "the session's id, log and figures", _session),
    Command(
        "window", "[policy]", "show or change the window policy", _window, ("unlimited", "none", "messages:20", "tokens:4000")
    ),
    Command("view", "full|bar|off", "how much of the window each turn shows", _view, ("full", "bar", "off")),
    Command("retry", "", "ask the last question again", _retry),
    Command("restore", "mN", "bring a ghost back, with its exchange, and keep it", _restore),
    Command("clear", "", "empty the window; the log keeps everything", _clear),
    Command("exit", "", "leave; the session can be continued", _exit),
)
COMMANDS: dict[str, Command] = {command.name: command for command in _ALL}
ALIASES = {"quit": "exit", "q": "exit", "?": "help", "ctx": "context"}


def dispatch(repl: Repl, line: str) -> bool:
    """Run a slash command; a unique beginning of its name is enough. Answers True to leave."""
    word, _, argument = line[1:].strip().partition(" ")
    name = ALIASES.get(word, word)
    if name not in COMMANDS:
        matches = [known for known in COMMANDS if word and known.startswith(word)]
        if len(matches) != 1:
            several = (
                f" It could be {', '.join('/' + m for m in matches)}."
                if matches
                else (nearest(word, COMMANDS) or " /help lists them.")
            )
            repl.print(f"there is no command /{word}.{several} To say it to the agent, put a blank before it.")
            return False
        name = matches[0]
    try:
        return bool(COMMANDS[name].run(repl, argument.strip()))
    except CtxengError as error:
        repl.print(str(error))
        return False
