"""Describes the bounds that requests are checked against, beyond the types of their fields, as JSON schemas."""

from collections.abc import Mapping
from typing import Any

from soliloquy.problems.bank.bank import bank_names
from soliloquy.recipes.packages import known_recipes
from soliloquy_services.gateway.index import PLACE_TOKEN
from soliloquy_services.gateway.paging import LARGEST_SIZE, PAGE_TOKEN
from soliloquy_services.gateway.validation import LONGEST_NAME, REQUEST_ID, RUN_LIMITS

Schema = dict[str, Any]


def constraints() -> Mapping[str, Schema]:
    """Returns schemas that join those of fields, by "StartRunRequest.request_id" or, in any message, "page_size"."""
    return {
        "page_size": {"minimum": 0, "maximum": LARGEST_SIZE},
        # Empty for the first page.
        "page_token": {"pattern": f"^({PAGE_TOKEN})?$"},
        "ListConversationsRequest.page_token": {"pattern": f"^({PLACE_TOKEN})?$"},
        "StartRunRequest": {"required": ["request", "request_id"]},
        "StartRunRequest.request_id": {"pattern": f"^{REQUEST_ID}$"},
        "StartRunRequest.request": {
            "required": ["recipe", "problems", "conversations"],
            "properties": {
                "recipe": {"enum": [*known_recipes()]},
                # Or a file that the gateway offers: GET /v1/choices lists both.
                "problems": {"anyOf": [{"enum": [*bank_names()]}, {"minLength": 1}]},
                "name": {"maxLength": LONGEST_NAME},
                **{name: _within(limits) for name, limits in RUN_LIMITS.items()},
            },
        },
    }


def digits_up_to(most: int) -> str:
    """Returns a pattern of the numbers up to one, as decimal strings without leading zeros."""
    text = str(most)
    shorter = [f"[1-9][0-9]{{0,{len(text) - 2}}}"] if len(text) > 1 else []
    smaller = [
        f"{text[:at]}[{0 if at else 1}-{int(digit) - 1}][0-9]{{{len(text) - at - 1}}}"
        for at, digit in enumerate(text)
        if int(digit) > (0 if at else 1)
    ]
    return "|".join(["0", *shorter, *smaller, text])


def _within(limits: Mapping[str, int]) -> Schema:
    bounds = {"minimum": limits["least"], "maximum": limits["most"]}
    if "usual" in limits:
        # 0 stands for the usual value.
        return {"anyOf": [{"const": 0}, bounds]}
    return {"pattern": f"^(?!0$)({digits_up_to(limits['most'])})$"}
