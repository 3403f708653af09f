"""Quarterly sales of an invented company: SYNTHETIC figures, made by a formula. Typed questions, and SQL for all else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from agent_tools.tables import rows

NOTE = "synthetic figures"
TABLES = "sales(year, quarter, region, product, units, revenue_eur) and products(product, category, price_eur)"
MOST_ROWS = 50
"""Rows that a query answers."""
MOST_SECONDS = 2.0
"""What a query may take."""

Region = Annotated[
    Literal["North", "South", "East", "West"] | None,
    "North (北区, 北部, 北方), South (南区, 南部, 南方), East (东区, 东部), West (西区, 西部). Left out: all regions.",
]
Product = Annotated[
    Literal["Laptop", "Monitor", "Phone", "Tablet", "Headset"] | None,
    "Laptop (notebook, 笔记本, 笔记本电脑), Monitor (screen, 显示器), Phone (smartphone, 手机), Tablet (平板, 平板电脑), "
    "Headset (耳机). Left out: all products.",
]
Quarter = Annotated[
    Literal["Q1", "Q2", "Q3", "Q4"] | None,
    "Q1 (first quarter, 第一季度), Q2 (second quarter, 第二季度), Q3 (third quarter, 第三季度), Q4 (fourth quarter, 第四季度). "
    "Left out: the whole year.",
]
Year = Annotated[Literal[2023, 2024, 2025] | None, "The year (年). Left out: 2023 to 2025 together."]


def sales_total(region: Region = None, product: Product = None, quarter: Quarter = None, year: Year = None) -> dict[str, Any]:
    """Total sales: units and revenue in euros, for a region, a product, a quarter, a year (销售额 销量 总额 营业额 卖了多少).

    Args:
        region: Where it was sold.
        product: What was sold.
        quarter: In which quarter.
        year: In which year.
    """
    picked = list(_rows(region=region, product=product, quarter=quarter, year=year))
    return {
        **_filters(region=region, product=product, quarter=quarter, year=year),
        "units": sum(int(row["units"]) for row in picked),
        "revenue_eur": sum(int(row["revenue_eur"]) for row in picked),
        "note": NOTE,
    }


def top_products(
    limit: Annotated[int, "How many products: top 3, best 3, 前3, 前三名."] = 3,
    region: Region = None,
    quarter: Quarter = None,
    year: Year = None,
) -> dict[str, Any]:
    """The top products by revenue, the best sellers first (畅销 最畅销 卖得最好 产品排名 热销).

    Args:
        limit: How many products.
        region: Where they were sold.
        quarter: In which quarter.
        year: In which year.
    """
    table = _by("product", _rows(region=region, quarter=quarter, year=year))
    return {**_filters(region=region, quarter=quarter, year=year), "products": table[: max(1, min(limit, 5))], "note": NOTE}


def compare(
    by: Annotated[
        Literal["region", "product", "quarter", "year"],
        "region (区域, 地区, 各区), product (产品, 各产品), quarter (quarterly, 季度, 各季度), year (yearly, 年度, 各年).",
    ],
    region: Region = None,
    product: Product = None,
    quarter: Quarter = None,
    year: Year = None,
) -> dict[str, Any]:
    """Compare all regions, products, quarters or years by revenue, the largest first (比较 对比 哪个地区 哪个产品 排名).

    Args:
        by: What the rows of the answer are.
        region: Only this region.
        product: Only this product.
        quarter: Only this quarter.
        year: Only this year.
    """
    picked = _rows(region=region, product=product, quarter=quarter, year=year)
    filters = _filters(region=region, product=product, quarter=quarter, year=year)
    return {"by": by, **filters, "rows": _by(by, picked), "note": NOTE}


def sql(
    query: Annotated[
        str,
        f"One SQL SELECT over {TABLES}.",
    ],
) -> dict[str, Any]:
    """Run one read-only SQL query (SELECT) over the sales tables (查询数据库).

    Args:
        query: One SELECT, in the dialect of SQLite.

    Returns:
        At most 50 rows; `more` says that there would have been others.
    """
    import sqlite3
    import time

    database = sqlite3.connect(":memory:")
    try:
        _load(database)
        deadline = time.monotonic() + MOST_SECONDS
        database.set_authorizer(_only_reading)
        database.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
        try:
            cursor = database.execute(query)
            found = cursor.fetchmany(MOST_ROWS + 1)
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise ValueError(_explained(str(error))) from None
        if cursor.description is None:
            raise ValueError("The query answers nothing: only SELECT is allowed.")
        columns = [column[0] for column in cursor.description]
        answer: dict[str, Any] = {"rows": [dict(zip(columns, row, strict=True)) for row in found[:MOST_ROWS]], "note": NOTE}
        return {**answer, "more": True} if len(found) > MOST_ROWS else answer
    finally:
        database.close()


def _load(database: Any) -> None:
    for name in ("sales", "products"):
        table = rows(name)
        columns = list(table[0])
        types = [f"{column} {'INTEGER' if table[0][column].isdigit() else 'TEXT'}" for column in columns]
        database.execute(f"CREATE TABLE {name} ({', '.join(types)})")
        marks = ", ".join("?" for _ in columns)
        database.executemany(f"INSERT INTO {name} VALUES ({marks})", [tuple(row.values()) for row in table])
    database.execute("PRAGMA query_only = ON")


def _only_reading(action: int, *_: object) -> int:
    """SQLite asks this for each act of a query while it prepares it; what is not reading is denied."""
    import sqlite3

    allowed = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
    return sqlite3.SQLITE_OK if action in allowed else sqlite3.SQLITE_DENY


def _explained(error: str) -> str:
    if error == "interrupted":
        return f"The query took longer than {MOST_SECONDS:g} seconds. Ask for less."
    if "not authorized" in error or "prohibited" in error:
        return "Only SELECT is allowed: the tables can't be changed."
    if "one statement" in error:
        return "One statement at a time, please."
    return f"SQLite says: {error}. The tables are {TABLES}."


def _rows(**filters: object) -> Iterator[dict[str, str]]:
    wanted = {name: str(value) for name, value in filters.items() if value is not None}
    return (row for row in rows("sales") if all(row[name] == value for name, value in wanted.items()))


def _filters(**filters: object) -> dict[str, object]:
    return {name: value for name, value in filters.items() if value is not None}


def _by(column: str, picked: Iterator[dict[str, str]]) -> list[dict[str, Any]]:
    """Units and revenue for each value of a column, the largest revenue first."""
    units: dict[str, int] = defaultdict(int)
    revenue: dict[str, int] = defaultdict(int)
    for row in picked:
        units[row[column]] += int(row["units"])
        revenue[row[column]] += int(row["revenue_eur"])
    order = sorted(revenue, key=lambda value: -revenue[value])
    return [{column: value, "units": units[value], "revenue_eur": revenue[value]} for value in order]
