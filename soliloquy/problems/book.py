"""Compares questions."""


def as_one_line(question: str) -> str:
    """Returns the question with runs of white space collapsed, as prompts and files change them."""
    return " ".join(question.split())
