"""Blanks out the markup of LaTeX and Markdown; every character of a text keeps its position."""

import re

# Each alternative begins with a plain character, which the search then looks for.
_MARKS = re.compile(
    r"\\(?:left|right|displaystyle|quad|boxed|[,;:! ()\[\]])|\\(?:begin|end)\{\w+\*?\}(?:\{\w\})?|\\(?=[%$])|`|&"
    r"|\\cdot(?=\s*[A-Za-z])|~(?<=\d~)(?=\s*[A-Za-z])"
)
_LINE_IN_LATEX = re.compile(r"\\\\")
_WORDS_IN_LATEX = re.compile(r"(\\(?:text|mathrm|mathbf|mathit|operatorname|rm|bf)\s?\{)((?:[^{}]|\{[^{}]*\})*)\}")
_BOXED = re.compile(r"(\\boxed\s?\{)((?:[^{}]|\{[^{}]*\})*)\}")
# Dollar signs around a formula, and not two prices.
_FORMULA = re.compile(r"\$(?=\S)([^$\n]{1,300}?)(?<=\S)\$(?!\d)")
# Marks around words or a number, and neither a product nor Python's power.
_EMPHASIS = re.compile(r"(?<![\w)*])(\*{1,3}|__)(?=[^\s*])([^\n]{1,300}?)(?<=[^\s*])\1(?![\w(*])")
_LIST_MARK = re.compile(r"^[ \t]*(?:[*•][ \t]|\(?[a-z][.)][ \t])", re.MULTILINE)
# A single number may be an answer: "24. I shared 72 among 3."
_NUMBER_MARK = re.compile(r"^[ \t]*\(?(\d{1,2})[.)][ \t]", re.MULTILINE)
# A single dash may be a minus sign.
_DASH_MARK = re.compile(r"^[ \t]*-[ \t]", re.MULTILINE)
# The line below the head of a table.
_RULE = re.compile(r"^[ \t]*(?:\|[ \t]*)?:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+(?:\|[ \t]*)?$", re.MULTILINE)
# "47\\,\\mu\\text{F}", and not the friction in "\\mu m g".
_MICRO = re.compile(r"(\d\s*)\\mu(\s*)(?=[A-Za-z])")
# A text without any of this is as it stands; most messages are.
_MAY_MARK = re.compile(r"[\\`&~$*_|\n•]|^[ \t]*\(?\w{1,2}[.)][ \t]")
_DASHES = str.maketrans("−–—‐‑", "-----")
_WIDEST_GAP = 20


def without_markup(text: str) -> str:
    if _MAY_MARK.search(text):
        text = _without_marks(text)
    return text if text.isascii() else text.translate(_DASHES)


def _without_marks(text: str) -> str:
    if len(_DASH_MARK.findall(text)) > 1:
        text = _DASH_MARK.sub(_blank, text)
    numbers = _NUMBER_MARK.findall(text)
    if len(numbers) > 1 or numbers == ["1"]:
        text = _NUMBER_MARK.sub(_blank, text)
    text = _RULE.sub(lambda rule: " " * len(rule[0]), text)
    text = _EMPHASIS.sub(_without_emphasis, _LIST_MARK.sub(_blank, text))
    text = _FORMULA.sub(r" \1 ", text.replace("$$", "  ").replace("\\pm", "±  "))
    text = _BOXED.sub(_without_braces, text)
    text = _WORDS_IN_LATEX.sub(_without_braces, text)
    text = _LINE_IN_LATEX.sub(" \n", text)
    text = _MARKS.sub(_blank, text)
    return _MICRO.sub(lambda micro: f"{micro[1]}  {micro[2]}μ", text) if "\\mu" in text else text


def end_of_gap(text: str, at: int) -> int:
    """Returns the place of the last blank of the gap that markup leaves between a number and its unit."""
    gap = text[at : at + _WIDEST_GAP]
    return at + max(0, len(gap) - len(gap.lstrip(" ")) - 1)


def _without_braces(found: re.Match[str]) -> str:
    return " " * len(found[1]) + found[2] + " "


def _without_emphasis(found: re.Match[str]) -> str:
    gap = " " * len(found[1])
    return f"{gap}{found[2]}{gap}"


def _blank(mark: re.Match[str]) -> str:
    # Between units; between numbers it is read as it stands.
    sign = "·" if mark[0] == "\\cdot" else " "
    return sign + " " * (len(mark[0]) - 1)
