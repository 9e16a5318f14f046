"""A file of tokens, as an operator writes it."""

import hashlib
from pathlib import Path

READER, OPERATOR = "the-reader's", "the-operator's"


def entry(name: str, role: str, token: str = "") -> str:
    digest = f'sha256 = "{hashlib.sha256(token.encode()).hexdigest()}"\n' if token else ""
    return f'[[token]]\nname = "{name}"\nrole = "{role}"\n{digest}'


def written(folder: Path, *entries: str) -> Path:
    file = folder / "tokens.toml"
    file.write_text(
        "\n".join(entries or (entry("rita", "reader", READER), entry("olga", "operator", OPERATOR))), "utf-8"
    )
    return file
