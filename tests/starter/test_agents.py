"""The starter project's agents answer usefully on the offline model, in English and Chinese; figures are those of the data."""

from __future__ import annotations

import asyncio
import csv
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from ctxeng_cli.assembly import check_agent
from ctxeng_cli.core.codec import to_json
from ctxeng_cli.session import FileStore, open_session
from ctxeng_cli.spec import load
from tests.commands import ROOT, ctxeng
from tests.contract import assert_event, events

PROJECT = load(ROOT / "agents.yaml")


def table(name: str) -> list[dict[str, str]]:
    with (ROOT / "agent_tools" / "data" / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


CLIMATE, SALES, PRODUCTS = table("climate"), table("sales"), table("products")


def climate(city: str, month: str) -> list[str]:
    """The figures of a city and month as an answer holds them."""
    (row,) = [row for row in CLIMATE if (row["city"], row["month"]) == (city, month)]
    return [city, month, f"high_c: {row['high_c']}", f"low_c: {row['low_c']}", f"rain_mm: {row['rain_mm']}", "sample figures"]


def extreme(city: str, column: str, best: Callable[..., Any]) -> list[str]:
    row = best((row for row in CLIMATE if row["city"] == city), key=lambda row: int(row[column]))
    return [city, row["month"], f"{column}: {row[column]}", "sample figures"]


def total(column: str, **only: str) -> int:
    return sum(int(row[column]) for row in SALES if all(row[key] == value for key, value in only.items()))


def revenue(**only: str) -> list[str]:
    return [f"revenue_eur: {total('revenue_eur', **only)}", f"units: {total('units', **only)}", "synthetic"]


def ranked(by: str, **only: str) -> list[str]:
    """The names in a column by revenue, the largest first, as an answer lists them."""
    names = {row[by] for row in SALES}
    return sorted(names, key=lambda name: -total("revenue_eur", **{by: name}, **only))


WEATHER: list[tuple[str, int, list[str]]] = [
    # what is asked, how many calls it takes in one round, what the answer holds
    ("What is the climate in Bern and in Cairo in July?", 2, [*climate("Bern", "July"), *climate("Cairo", "July")]),
    ("How warm is it in Oslo in January?", 1, climate("Oslo", "January")),
    ("Compare Tokyo and Sydney in February and August.", 4,
     [*climate("Tokyo", "February"), *climate("Tokyo", "August"), *climate("Sydney", "February"), *climate("Sydney", "August")]),
    ("Does it rain a lot in Singapore in December?", 1, climate("Singapore", "December")),
    ("Which month is the warmest in Madrid?", 1, extreme("Madrid", "high_c", max)),
    ("What's the wettest month in London?", 1, extreme("London", "rain_mm", max)),
    ("temperature New York May", 1, climate("New York", "May")),
    ("Tell me about the weather in Paris, Rome and Lima in March", 3,
     [*climate("Paris", "March"), *climate("Rome", "March"), *climate("Lima", "March")]),
    ("开罗七月的天气怎么样？", 1, climate("Cairo", "July")),
    ("北京和上海一月的气温是多少？", 2, [*climate("Beijing", "January"), *climate("Shanghai", "January")]),
    ("莫斯科哪个月最冷？", 1, extreme("Moscow", "low_c", min)),
]  # fmt: skip
ANALYST: list[tuple[str, int, list[str]]] = [
    ("What was the total revenue in 2024?", 1, revenue(year="2024")),
    ("How many laptops did we sell in the North in Q3 2025?", 1,
     revenue(product="Laptop", region="North", quarter="Q3", year="2025")),
    ("Total sales of phones and of tablets in 2023?", 2,
     [*revenue(product="Phone", year="2023"), *revenue(product="Tablet", year="2023")]),
    ("Compare the regions in 2024.", 1, ranked("region", year="2024")),
    ("Which product sold best in the West in 2025?", 1, ranked("product", region="West", year="2025")[:1]),
    ("top 3 products in Q4 2023", 1, ranked("product", quarter="Q4", year="2023")[:3]),
    ("Sales in the South in Q1 2024", 1, revenue(region="South", quarter="Q1", year="2024")),
    ('Run the SQL "SELECT count(*) AS rows_in_all FROM sales"', 1, [f"rows_in_all: {len(SALES)}"]),
    ("2024年第四季度的销售额是多少？", 1, revenue(quarter="Q4", year="2024")),
    ("2025年手机在东区卖了多少？", 1, revenue(product="Phone", region="East", year="2025")),
    ("比较2023年各地区的销售额", 1, ranked("region", year="2023")),
]  # fmt: skip
PROSE = [
    ("guide", "What can you do?", ["not a language model", "context engineering", "[m1]"]),
    ("guide", "你能做什么？", ["不是语言模型", "上下文工程", "[m1]"]),
    ("guide", "What is a context window?", ["what is sent with a request", "[m1]"]),
    ("guide", "How do I add a tool?", ["`tools` in agents.yaml", "[m1]"]),
    ("guide", "How can I use a real model?", ["change the line `model`", "[m1]"]),
    ("guide", "Why do agents forget?", ["has been evicted", "[m1]"]),
    ("guide", "什么是幽灵？", ["被逐出的消息", "[m1]"]),
    ("guide", "What is the airspeed of a swallow?", ["Nothing in my window answers that"]),
    ("support", "How long do I have to return something?", ["within 30 days", "[m1]"]),
    ("support", "How do I reset my password?", ["Forgot password", "[m1]"]),
    ("support", "What is today's date?", ["2026-12-01", "[m1]"]),
    ("support", "Which region is this desk for?", ["Emmental", "[m1]"]),
    ("support", "帐篷保修多久？", ["保修 3 年", "[m1]"]),
    ("support", "怎么重置密码？", ["忘记密码", "[m1]"]),
    ("weather", "What can you do?", ["climate", "extreme_month"]),
    ("analyst", "What can you do?", ["sales_total", "sql"]),
]  # fmt: skip


def asked(name: str, question: str, folder: Path) -> tuple[str, list[dict[str, Any]]]:
    """The answer, and all events of the turn as JSON, each of them valid."""
    seen: list[dict[str, Any]] = []
    session = open_session(
        PROJECT, name, store=FileStore(folder), environ={"REGION": "Emmental"}, clock=lambda: "2026-12-01T09:30:00.000+01:00"
    )
    session.journal.observers.append(lambda entry: seen.append(to_json(entry, expanded=True)))
    outcome = asyncio.run(session.say(question))
    session.close()
    for body in seen:
        assert_event(json.loads(json.dumps(body)))
    assert outcome.state == "answered", outcome
    return outcome.text, seen


def of(kind: str, seen: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [body for body in seen if body["type"] == kind]


@pytest.mark.parametrize(
    ("name", "question", "calls", "holds"),
    [("weather", *row) for row in WEATHER] + [("analyst", *row) for row in ANALYST],
    ids=[row[0] for row in (*WEATHER, *ANALYST)],
)
def test_a_tool_agent_calls_what_is_asked_for_at_once_and_answers_with_the_figures(
    name: str, question: str, calls: int, holds: list[str], tmp_path: Path
) -> None:
    answer, seen = asked(name, question, tmp_path)
    assert [r["round"] for r in of("request.sent", seen)] == [1, 2], "one round of calls, then the answer"
    assert len(of("tool.called", seen)) == calls, of("tool.called", seen)
    assert [r["is_error"] for r in of("tool.returned", seen)] == [False] * calls
    assert [text for text in holds if text not in answer] == [], answer
    places = [answer.index(text) for text in holds if not text.isdigit() and text in answer]
    if question.startswith(("Compare the regions", "top 3", "比较")):
        assert places == sorted(places), "ranked, the largest first"


@pytest.mark.parametrize(("name", "question", "holds"), PROSE, ids=[f"{name}: {question}" for name, question, _ in PROSE])
def test_an_agent_answers_from_its_prompt(name: str, question: str, holds: list[str], tmp_path: Path) -> None:
    answer, seen = asked(name, question, tmp_path)
    assert [text for text in holds if text not in answer] == [], answer
    assert of("tool.called", seen) == []


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("weather", "How warm is it in Atlantis in July?"),
        ("weather", "How warm is it?"),
        ("analyst", "Sales of bananas in 2031?"),
    ],
)
def test_what_the_tools_do_not_know_is_not_made_up(name: str, question: str, tmp_path: Path) -> None:
    answer, _ = asked(name, question, tmp_path)
    assert "Nothing in my window" in answer
    assert not {"high_c", "revenue_eur:"} & set(answer.split())


def test_two_cities_are_two_parallel_calls_and_every_event_of_the_command_is_valid(tmp_path: Path) -> None:
    question = "What is the climate in Bern and in Cairo in July?"
    ran = ctxeng("chat", "weather", "-m", question, "--json", cwd=ROOT, home=tmp_path)
    assert ran.exit == 0, ran.err
    seen = events(ran.out)
    kinds = [body["type"] for body in seen]
    first, last = kinds.index("tool.called"), len(kinds) - 1 - kinds[::-1].index("tool.called")
    assert kinds[first : last + 1] == ["tool.called"] * 2, "both are under way before one returns"
    assert [json.loads(body["arguments"])["city"] for body in of("tool.called", seen)] == ["Bern", "Cairo"]
    results = [body["message"] for body in of("message.added", seen) if body["message"]["role"] == "tool"]
    assert [json.loads(result["text"])["city"] for result in results] == ["Bern", "Cairo"]
    (finished,) = of("turn.finished", seen)
    assert [text for text in (*climate("Bern", "July"), *climate("Cairo", "July")) if text not in finished["text"]] == []
    assert [f"[{result['id']}]" in finished["text"] for result in results] == [True, True]
    assert "".join(body["text"] for body in of("model.delta", seen)) == finished["text"]


@pytest.mark.parametrize("agent", PROJECT.agents.values(), ids=lambda agent: agent.name)
def test_the_spec_is_sound(agent: Any) -> None:
    assert check_agent(agent) == []
    assert agent.description


@pytest.mark.parametrize(
    "query",
    ["DELETE FROM sales", "DROP TABLE sales", "INSERT INTO products VALUES ('x', 'y', 1)", "UPDATE sales SET units = 0",
     "ATTACH DATABASE 'TMP/x' AS x", "PRAGMA query_only = OFF", "SELECT load_extension('x')", "SELECT 1; SELECT 2", "",
     "SELECT readfile('/etc/passwd')", "CREATE TABLE t (a)", "SELEC 1", "VACUUM INTO 'TMP/x'"],
)  # fmt: skip
def test_the_sql_tool_reads_and_nothing_else(query: str, tmp_path: Path) -> None:
    from agent_tools.sales import sql

    with pytest.raises(ValueError, match=r"SELECT|SQLite says|One statement|nothing"):
        sql(query.replace("TMP", str(tmp_path)))
    assert list(tmp_path.iterdir()) == []


def test_the_sql_tool_is_bounded_in_rows_and_time() -> None:
    from agent_tools.sales import sql

    answer = sql("SELECT * FROM sales")
    assert (len(answer["rows"]), answer["more"]) == (50, True)
    with pytest.raises(ValueError, match="took longer"):
        sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n")
