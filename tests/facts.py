"""A generator of conversations that hold one fact: its place among fillers, a window, and the question for it at the end.

Half of the fillers look like the fact: they tell of something else in the same words. In English and in Chinese. None of
its words may stand in the package's source (tests/starter/test_forgetting.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random  # noqa: TID251  seeded: the same draws in every run

WORDS = {
    "en": {
        "place": "Lahti Braga Tartu Malmo Ghent Pisa Varna Cork Bergen Graz Aarhus Porto".split(),
        "thing": "warehouse depot archive lab garage library workshop".split() + ["server room"],
        "first": "Marta Jonas Ilse Tomek Priya Kenji Olga Bruno Leila Sven".split(),
        "last": "Novak Brandt Okafor Lindqvist Moretti Haddad Kowalski Sato".split(),
        "animal": "parrot tortoise hamster goat rabbit".split(),
        "word": "teal crimson ochre indigo walnut falcon marble copper goulash paella".split(),
    },
    "zh": {
        "place": "兰州 昆明 厦门 大连 洛阳 桂林 苏州 拉萨".split(),
        "thing": "仓库 机房 图书馆 实验室 车间 档案室".split(),
        "first": "王小梅 赵立 陈国强 孙悦 周敏 吴海涛 郑爽 林可".split(),
        "last": [""],
        "animal": "鹦鹉 乌龟 仓鼠 山羊 兔子".split(),
        "word": "藏青 雪莲 海燕 磐石 橙红".split(),
    },
}


@dataclass(frozen=True)
class Family:
    """How a fact is told, which of its words is the value, how one asks for it, and fillers that look like it."""

    tells: tuple[str, ...]
    value: str
    asks: tuple[str, ...]
    alike: tuple[str, ...] = ()


# {place2} and the like are other draws than {place}.
EN = (
    Family(
        ("The access code for the {place} {thing} is {code}.", "Remember that the access code of the {thing} in {place} is {code}."),
        "code",
        ("What is the access code for the {place} {thing}?", "Which access code opens the {thing} in {place}?",
         "Do you remember the access code for the {place} {thing}?"),
        ("The access code for the {place2} {thing} is {code2}.", "The access code for the {place} {thing2} is {code2}.",
         "The {place} {thing} has no access on Sundays."),
    ),
    Family(
        ("The manager of the {place} {thing} is {name}.", "{name} manages the {thing} in {place}.",
         "About the {place} {thing}: its manager is {name} since May."),
        "name",
        ("Who is the manager of the {place} {thing}?", "Who manages the {thing} in {place}?"),
        ("The manager of the {place2} {thing} is {name2}.", "{name2} manages the {thing2} in {place}.",
         "The {place} {thing} was painted last year."),
    ),
    Family(
        ("The capacity of the {place} {thing} is {number} crates.", "{number} crates fit into the {place} {thing}: its capacity."),
        "number",
        ("What is the capacity of the {place} {thing}?",),
        ("The capacity of the {place2} {thing} is {number2} crates.", "The capacity of the {place} {thing2} was discussed."),
    ),
    Family(
        ("My locker is in hall B. The code is {code}.", "I rent a locker at the station. Its code is {code}.",
         "Please note: my locker code is {code}."),
        "code",
        ("What is the code of my locker?", "What's my locker code?", "Tell me my locker code."),
        ("{name}'s locker is in hall C.", "The lockers were cleaned today.", "My bike lock has the code {code2}."),
    ),
    Family(
        ("My {animal} is called {first}.", "The name of my {animal} is {first}.", "I have a {animal} named {first}."),
        "first",
        ("What is my {animal} called?", "What is the name of my {animal}?", "What's my {animal}'s name?"),
        ("My {animal2} is called Zorro.", "A {animal} needs fresh water every day."),
    ),
    Family(
        ("My favourite colour is {word}.", "By the way, {word} is my favourite colour."), "word",
        ("What is my favourite colour?", "Which colour is my favourite?"),
        ("My favourite season is autumn.", "{name} has no favourite colour."),
    ),
    Family(
        ("{name}'s favourite dish is {word}.", "The favourite dish of {name} is {word}."), "word",
        ("What is {name}'s favourite dish?",), ("{name2}'s favourite dish is risotto.", "{name} likes to cook."),
    ),
    Family(
        ("I live in {place}.", "I moved to {place} in spring and live there now."), "place",
        ("Where do I live?",), ("{name} lives in {place2}.", "Many people live by the sea."),
    ),
    Family(
        ("The meeting with {name} is in room {code}.", "{name} and I meet in room {code}."), "code",
        ("In which room do I meet {name}?",), ("The meeting with {name2} is in room {code2}.", "{name} cancelled lunch."),
    ),
    Family(
        ("Invoice {number} belongs to {name}.", "The customer of invoice {number} is {name}."), "name",
        ("Who is the customer of invoice {number}?",), ("Invoice {number2} belongs to {name2}.", "Invoices leave on Mondays."),
    ),
    Family(
        ("Today was long. First I went to the market. The bus was full. The password of the {place} wifi is {code}. Then I went "
         "home. In the evening we watched a film about whales. It was fine. I fell asleep early.",),
        "code",
        ("What is the password of the {place} wifi?",), ("The password of the {place2} wifi was changed.", "The {place} wifi is slow."),
    ),
    Family(("The deploy password is {code}.",), "code", ("What's the password for deploys?",), ("The deploy went well.",)),
    Family(("My sister works as a doctor in {place}.",), "place", ("Which city does my sister work in?",), ("My sister called.",)),
    Family(("Our supplier for bolts is {name} Ltd.",), "name", ("Which company supplies our bolts?",), ("The bolts came late.",)),
    Family(("For the record, ticket {number} was closed by {name}.",), "name", ("Who closed ticket {number}?",),
           ("Ticket {number2} was closed by {name2}.",)),
    Family(("The session key of {name} is {code}.",), "code", ("What is the session key of {name}?",),
           ("The session key of {name2} is {code2}.", "A session has a log.")),
    Family(("Flight {code} leaves from gate 12.",), "code", ("What is my flight number?",), ("The gate was crowded.",)),
    Family(("Customer {name} prefers delivery by {word}.",), "word", ("How does {name} prefer delivery?",),
           ("Customer {name2} prefers delivery by bike.",)),
)  # fmt: skip
ZH = (
    Family(
        ("{place}{thing}的门禁码是{code}。", "请记住，{place}{thing}的门禁码是 {code}。", "门禁码{code}是{place}{thing}的。"), "code",
        ("{place}{thing}的门禁码是什么？", "请问{place}{thing}的门禁码是多少？", "你还记得{place}{thing}的门禁码吗？"),
        ("{place2}{thing}的门禁码是{code2}。", "{place}{thing2}的门禁码是{code2}。", "{place}{thing}今天不开门。"),
    ),
    Family(
        ("{place}{thing}的负责人是{name}。", "{name}负责{place}的{thing}。"), "name",
        ("{place}{thing}的负责人是谁？", "谁负责{place}的{thing}？"),
        ("{place2}{thing}的负责人是{name2}。", "{name2}负责{place}的{thing2}。", "{place}{thing}去年刷过墙。"),
    ),
    Family(
        ("{place}{thing}的容量是{number}箱。",), "number", ("{place}{thing}的容量是多少？", "{place}的{thing}容量有多大？"),
        ("{place2}{thing}的容量是{number2}箱。", "{place}{thing}很大。"),
    ),
    Family(
        ("我的储物柜在B厅。密码是{code}。", "我的储物柜密码是{code}。", "记一下：我的储物柜密码是{code}"), "code",
        ("我的储物柜密码是多少？", "我储物柜的密码是什么？"), ("{name}的储物柜在C厅。", "我的自行车锁密码是{code2}。"),
    ),
    Family(
        ("我的{animal}叫{name}。", "我养了一只{animal}，名字叫{name}。"), "name", ("我的{animal}叫什么名字？", "我的{animal}叫什么？"),
        ("我的{animal2}叫豆豆。", "{animal}每天都要喝水。"),
    ),
    Family(("我最喜欢的颜色是{word}。",), "word", ("我最喜欢的颜色是什么？", "我最喜欢什么颜色？"),
           ("我最喜欢的季节是秋天。", "{name}没有喜欢的颜色。")),
    Family(("我住在{place}。", "我去年搬到{place}，现在住在那里。"), "place", ("我住在哪里？", "我住在哪个城市？"),
           ("{name}住在{place2}。", "很多人住在海边。")),
    Family(("发票{number}的客户是{name}。",), "name", ("发票{number}的客户是谁？",), ("发票{number2}的客户是{name2}。",)),
    Family(("和{name}的会议在{code}会议室。",), "code", ("我和{name}在哪个会议室开会？",), ("和{name2}的会议在{code2}会议室。",)),
    Family(("我姐姐在{place}当医生。",), "place", ("我姐姐在哪个城市工作？",), ("我姐姐来过电话。",)),
    Family(("我的航班是{code}。",), "code", ("我的航班号是多少？",), ("航班又晚点了。",)),
    Family(("工单{number}是{name}关闭的。",), "name", ("谁关闭了工单{number}？",), ("工单{number2}是{name2}关闭的。",)),
    Family(("{place}办公室的无线密码：{code}",), "code", ("告诉我{place}办公室的无线密码",), ("{place2}办公室的无线密码：{code2}",)),
    Family(("项目代号叫{word}。",), "word", ("这个项目的代号是什么？",), ("项目进展顺利。",)),
)  # fmt: skip
FILLERS = {
    "en": (
        "The train to {place} was late again this morning.", "I had soup for lunch with {name}.", "It rained all afternoon.",
        "The meeting about the budget was moved to Thursday.", "{first} painted the fence {word}.", "My {animal} slept all day.",
        "We ordered new chairs for the {thing} in {place}.", "The lift in the {thing} is being repaired.", "Thanks!",
        "Have you ever been to {place}?", "What is the capital of Peru?", "Tell me a joke.", "How do I cook {word}?",
        "I think the code review went well.", "The access to the {place} {thing} is closed on Sundays.",
    ),
    "zh": (
        "今天早上去{place}的火车又晚点了。", "中午我和{name}一起吃了面条。", "下午一直在下雨。", "预算会议改到星期四了。", "谢谢！",
        "{name}把篱笆刷成了{word}色。", "我的{animal}睡了一整天。", "我们给{place}的{thing}买了新椅子。", "你去过{place}吗？",
        "秘鲁的首都是哪里？", "讲个笑话吧。", "{name}下周要去{place}的办公室。", "面条怎么做？", "{place}{thing}星期天不开门。",
    ),
}  # fmt: skip
PROMPTS = (
    "You are a helpful assistant. Answer briefly.",
    "You explain the workbench. A code is never shown to guests. The manager decides. My name is guide.",
    "你是一个助手。请简短回答。",
    "You help a warehouse team. 你帮助仓库团队。 Ask for the place and the code. 颜色和密码都可以记录。",
    *(path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parents[1].glob("prompts/*.md"))),
)


@dataclass(frozen=True)
class Draw:
    """A conversation to be had: the person's messages, the fact among them, and what is asked at the end."""

    says: tuple[str, ...]
    at: int
    value: str
    question: str
    prompt: str
    window: int
    """Exchanges that stay, the running one included."""
    template: str


def values(random: Random, language: str) -> dict[str, str]:
    """One draw for each word of the templates, and a second, different one under its name with a 2."""
    drawn: dict[str, str] = {}
    for kind, words in WORDS[language].items():
        one, two = random.sample(words, 2) if len(words) > 1 else words * 2
        drawn |= {kind: one, f"{kind}2": two}
    for two in ("", "2"):
        letters = "".join(random.sample("ABCDEFGHJKLMNPQRSTUVWXYZ", random.randint(2, 3)))
        digits = random.randint(10_000, 99_999)
        drawn[f"code{two}"] = random.choice([f"{letters}-{digits}", str(digits), f"{letters}{digits}x"])
        drawn[f"number{two}"] = str(random.randint(10_000, 99_999))
        drawn[f"name{two}"] = f"{drawn[f'first{two}']} {drawn[f'last{two}']}".strip()
    return drawn


def other(random: Random, language: str, told: dict[str, str]) -> dict[str, str]:
    """Words with a 2 that are none of the fact's: a filler that is alike tells of something else, and contradicts nothing."""
    while True:
        words = {name: word for name, word in values(random, language).items() if name.endswith("2")}
        if all(not word or word != told[name[:-1]] for name, word in words.items()):
            return words


def draw(seed: int) -> Draw:
    random = Random(seed)
    language = ("en", "zh")[seed % 2]
    family = random.choice(EN if language == "en" else ZH)
    told = values(random, language)
    value = told[family.value]
    fillers = []
    for _ in range(random.randint(1, 14)):
        # Half of the fillers look like the fact: its own words about another thing.
        alike = bool(family.alike) and random.random() < 0.5
        words = told | other(random, language, told) if alike else values(random, language)
        text = random.choice(family.alike if alike else FILLERS[language]).format(**words)
        if value not in text:
            fillers.append(text)
    at = random.randint(0, len(fillers))
    says = (*fillers[:at], random.choice(family.tells).format(**told), *fillers[at:])
    template = random.choice(["{}", "{}", "{}", "Question from guest: {}"])
    asked = random.choice(family.asks).format(**told)
    return Draw(says, at, value, asked, random.choice(PROMPTS), random.randint(1, 16), template)
