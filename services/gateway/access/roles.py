"""The table of `roles.toml`."""

import tomllib
from pathlib import Path
from typing import Literal, get_args

Role = Literal["reader", "operator"]
# Each role may do everything that the roles before it may.
ROLES: tuple[Role, ...] = get_args(Role)

_TABLE: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("roles.toml").read_text("utf-8"))
ROLE_OF: dict[str, Role] = {action: role for role in ROLES for action in _TABLE[role]}


def allowed(role: Role, action: str) -> bool:
    needed = ROLE_OF.get(action)
    return needed is not None and ROLES.index(role) >= ROLES.index(needed)


def is_steering(action: str) -> bool:
    return ROLE_OF.get(action) == "operator"
