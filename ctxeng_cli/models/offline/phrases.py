"""What the window reader says in its own words, in English and in Chinese. All else that it says is quoted.

Its own words hold no figures besides message ids, so that they can't be taken for an answer. What it said before is no
source for what it says next: `is_own` knows its sentences again.
"""

from __future__ import annotations

from ctxeng_cli.models.offline.words import Language

PHRASES: dict[str, dict[Language, str]] = {
    "who": {
        "en": "I am the offline window reader, not a language model: I can answer only what is in my window, and I quote it.",
        "zh": "我是离线的窗口阅读器，不是语言模型：我只能回答窗口里有的内容，并引用原文。",
    },
    "purpose": {"en": "My instructions say:", "zh": "我的系统提示说："},
    "tools": {"en": "Tools that I can call:", "zh": "我可以调用的工具："},
    "try": {
        "en": "Tell me something and ask for it later; /context shows what is still in my window.",
        "zh": "可以先告诉我一件事，稍后再问我；/context 显示窗口里还有什么。",
    },
    "nothing": {"en": "Nothing in my window answers that.", "zh": "我的窗口里没有能回答这个问题的内容。"},
    "closest": {
        "en": "Nothing in my window answers that for certain. The closest is:",
        "zh": "我的窗口里没有确切的答案。最接近的是：",
    },
    "holds": {"en": "My window holds {ids}.", "zh": "窗口里现在有 {ids}。"},
    "evicted": {
        "en": "Older messages may have been evicted: /context or `ctxeng inspect-context` shows them.",
        "zh": "更早的消息可能已被逐出：用 /context 或 `ctxeng inspect-context` 查看。",
    },
    "noted": {
        "en": "Noted: I can quote your message for as long as it is in my window. [{id}]",
        "zh": "已记下：只要这条消息还在窗口里，我就能引用它。[{id}]",
    },
    "thanks": {"en": "You are welcome.", "zh": "不客气。"},
    "summary": {"en": "From my window, in order:", "zh": "按顺序摘自我的窗口："},
    "empty": {"en": "There is nothing in my window to summarize yet.", "zh": "窗口里还没有可以总结的内容。"},
    "failed": {"en": "failed", "zh": "失败"},
    "no_output": {"en": "no output", "zh": "没有输出"},
}

_OWN = tuple(
    text.split("{")[0].strip() for key, words in PHRASES.items() if key not in ("failed", "no_output") for text in words.values()
)


def phrase(key: str, language: Language, **values: str) -> str:
    return PHRASES[key][language].format(**values)


def is_own(sentence: str) -> bool:
    """Whether a sentence, or the part of one, is one of these."""
    return any(sentence.startswith(own) or (len(sentence) > 12 and sentence in own) for own in _OWN)
