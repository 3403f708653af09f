"""Typical monthly temperatures and rain of twenty cities: SAMPLE figures to show a tool at work, no measurements."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from agent_tools.tables import rows

NOTE = "sample figures, not measurements"

# The text beside a type is told to the model. Names in brackets help a model, and the offline reader, to know a city or
# a month by what people call it.
City = Annotated[
    Literal[
        "Bern", "Berlin", "Paris", "London", "Madrid", "Rome", "Oslo", "Istanbul", "Moscow", "Cairo",
        "Nairobi", "Beijing", "Shanghai", "Tokyo", "Singapore", "Sydney", "Lima", "New York", "Toronto", "Mexico City",
    ],
    "Bern (伯尔尼), Berlin (柏林), Paris (巴黎), London (伦敦), Madrid (马德里), Rome (罗马), Oslo (奥斯陆), "
    "Istanbul (伊斯坦布尔), Moscow (莫斯科), Cairo (开罗), Nairobi (内罗毕), Beijing (北京), Shanghai (上海), "
    "Tokyo (东京), Singapore (新加坡), Sydney (悉尼), Lima (利马), New York (纽约), Toronto (多伦多), Mexico City (墨西哥城).",
]  # fmt: skip
Month = Annotated[
    Literal[
        "January", "February", "March", "April", "May", "June",
        "July", "August", "September", "October", "November", "December",
    ],
    "January (一月), February (二月), March (三月), April (四月), May (五月), June (六月), July (七月), August (八月), "
    "September (九月), October (十月), November (十一月), December (十二月).",
]  # fmt: skip


def climate(city: City, month: Month) -> dict[str, Any]:
    """Typical temperatures and rain of a city in a month: climate, weather, how warm, cold or wet (气候 天气 气温 温度 降雨).

    Returns:
        The typical daily high and low in °C and the month's rain in mm, labelled as sample figures.
    """
    row = next(row for row in rows("climate") if row["city"] == city and row["month"] == month)
    return {
        "city": city,
        "month": month,
        "high_c": int(row["high_c"]),
        "low_c": int(row["low_c"]),
        "rain_mm": int(row["rain_mm"]),
        "note": NOTE,
    }


def extreme_month(
    city: City,
    kind: Annotated[
        Literal["warmest", "coldest", "wettest", "driest"],
        "warmest (hottest, 最热, 最暖和, 最温暖), coldest (coolest, 最冷), wettest (rainiest, 最湿, 下雨最多, 雨最多, 降雨最多), "
        "driest (最干, 最干燥, 下雨最少, 雨最少, 降雨最少).",
    ],
) -> dict[str, Any]:
    """Find the warmest, coldest, wettest or driest month of a city (哪个月最热、最冷、最湿、最干).

    Returns:
        The month and its figure, labelled as a sample figure.
    """
    column = {"warmest": "high_c", "coldest": "low_c", "wettest": "rain_mm", "driest": "rain_mm"}[kind]
    best = max if kind in ("warmest", "wettest") else min
    row = best((row for row in rows("climate") if row["city"] == city), key=lambda row: int(row[column]))
    return {"city": city, "kind": kind, "month": row["month"], column: int(row[column]), "note": NOTE}
