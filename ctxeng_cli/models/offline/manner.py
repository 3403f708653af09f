"""What a message from a person wants: a greeting back, who this is, a summary, an answer, or only to be kept."""

from __future__ import annotations

import re
from typing import Literal

from ctxeng_cli.models.offline.words import CJK

Manner = Literal["greeting", "thanks", "about", "summary", "statement", "question"]

_LABEL = re.compile(
    r"^\s*(?:(?:new |a |the |user |customer )?(?:question|message|request|query)(?:\s+(?:from|by)\s+[^:：\n?.]{1,40})?|"
    r"[^\s:：]{1,30} (?:asks|says|wrote)|(?:来自)?[^\s:：]{0,12}(?:问题|提问|消息))\s*[:：]\s*",
    re.IGNORECASE,
)
_GREETING = re.compile(
    r"(?:hi|hello|hey|good (?:morning|evening|afternoon|day)|greetings|你好|您好|嗨|哈喽|大家好|早上好|晚上好|下午好)"
    r"(?: there| all)?[\s!.,。！，~]*",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"(?:(?:many )?thanks?(?: you)?(?: very much| a lot| so much)?|ok(?:ay)?|bye|goodbye|谢谢你?|多谢|好的|再见)"
    r"[\s!.,。！，]*",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"(?:what (?:can|do|could) you (?:do|help|offer|know)\b|how (?:can|do|could) you (?:help|work)\b|who are you\b|"
    r"what are you\s*[?.!]*$|"
    r"what are you (?:for|good for|able to do)\b|are you an? (?:language model|llm|ai|bot|robot|human|person)\b|"
    r"introduce yourself|"
    r"what (?:can|could|should|may) i (?:ask|do)\b|"
    r"what is this (?:agent|bot|assistant)\b|what tools do you have|which tools (?:do|can) you|"
    r"what is your (?:job|role|purpose)\b|"
    r"^\s*help(?: me)?\s*[.!?]*\s*$|"
    r"你(?:能|会|可以|都能)(?:为我|帮我|帮忙)?(?:做|干|帮|提供)[些点]?(?:什么|啥|哪些)|你会什么|"
    r"你(?:到底)?是(?:谁|什么)|介绍(?:一下)?(?:你)?自己|"
    r"你有(?:什么|哪些)(?:用|功能|工具)|"
    r"(?:可以|能)问你(?:什么|哪些)|怎么用你|"
    r"你是(?:大?语言模型|人工智能|机器人|真人)|^\s*(?:帮助|帮帮我)\s*[。！？]*$)",
    re.IGNORECASE,
)  # fmt: skip
_SUMMARY = re.compile(
    r"\b(?:summar(?:y|i[sz]e|i[sz]ing)|sum up|recap|tl;?dr)\b|总结|概括|概述|归纳|摘要|小结|"
    r"what (?:did|have) we (?:talk|discuss|sa(?:y|id)|cover)|我们(?:聊|谈|说|讨论)了(?:些)?什么",
    re.IGNORECASE,
)
_KEEP = re.compile(
    r"^\W*(?:please |kindly |ok(?:ay)?,? )*(?:remember|note|keep in mind|save|store|don['’]?t forget|do not forget|be aware|fyi|"
    r"for (?:your|the) (?:information|record)|by the way|btw)\b"
    r"|^\W*(?:请|麻烦|帮我)?(?:你)?(?:记住|记下|记一下|记录|牢记|备忘|注意|别忘|不要忘|顺便说)",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"^\W*(?:(?:so|and|but|well|now|ok|okay|please|hey|hi|hello|then)\W+)*"
    r"(?:what|who|whom|whose|which|when|where|why|how|is|are|was|were|am|do|does|did|can|could|would|will|shall|should|may|has|have|had|"
    r"tell|show|give|list|find|name|compare|explain|describe|run|calculate|compute|look|search|get|fetch|check|query|select|read|open|print|repeat|quote|state|say|call|count|answer|use)\b"
    r"|\b(?:tell me|show me|give me|remind me|let me know|"
    r"i (?:want|need|would like|wish)|i['’]d like|looking for|i (?:have )?forg[oe]t|"
    r"wonder|(?:do not|don['’]t|can['’]t) (?:know|remember|recall))\b",
    re.IGNORECASE,
)  # fmt: skip
_ASKING_ZH = re.compile(
    r"什么|多少|哪[里儿个位些天年一]|谁|几[号点个月天岁]|怎么|怎样|如何|请问|告诉我|是不是|有没有|是否|为何|吗\W*$|呢\W*$|"
    r"^\W*(?:请|麻烦|帮我|帮忙|给我|那)*(?:查|列出|比较|对比|解释|说明|介绍|显示|看看|找|计算|运行|执行|搜索)|想知道|我忘了|忘记了|想了解|不记得|给我看"
)
_VERB = re.compile(
    r"\b(?:is|are|was|were|am|be|has|have|had|will|can|must|should|works?|lives?|means?|opens?|closes?|costs?|takes?|goes|holds?|keeps?|likes?|prefers?|"
    r"needs?|uses?|starts?|ends?|belongs?|stands?|lies|runs?|gets?|made|went|saw|met|said|\w{3,}ed)\b|\w['’](?:s|m|re|ve)\b",
    re.IGNORECASE,
)
_VERB_ZH = re.compile(r"[是在有叫为住喜要说用到放去做买卖定改于]|=|：")


def unwrapped(text: str) -> str:
    """A person's message without a label that a user template may have put before it (`Question from guest: …`)."""
    return _LABEL.sub("", text, count=1)


def asks(sentence: str) -> bool:
    """Whether a sentence asks for something, with a question mark or without."""
    if sentence.rstrip(" \"'”’」)）").endswith(("?", "？")):
        return True
    if _KEEP.search(sentence):
        return False
    return bool(_ASKING.search(sentence) or _ASKING_ZH.search(sentence))


def states(text: str) -> bool:
    """Whether a message only tells something: it asks nothing, and it is more than a few key words."""
    if "?" in text or "？" in text:
        return False
    if _KEEP.search(text):
        return True
    if asks(text):
        return False
    if len(re.findall(f"[{CJK}]", text)) >= 4:
        return bool(_VERB_ZH.search(text)) or text.rstrip().endswith(("。", "！"))
    return bool(_VERB.search(text)) or (len(text.split()) >= 3 and text.rstrip().endswith((".", "!")))


def manner(text: str) -> Manner:
    """What a person's message wants."""
    text = unwrapped(text).strip()
    if _GREETING.fullmatch(text):
        return "greeting"
    if _THANKS.fullmatch(text):
        return "thanks"
    if len(text) <= 120 and _ABOUT.search(text):
        return "about"
    if _SUMMARY.search(text[:200]) and not _KEEP.search(text):
        return "summary"
    return "statement" if states(text) else "question"
