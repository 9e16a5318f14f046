"""Compiles `quantity.lark` to the LALR table that `quantity_grammar` runs: `python -m soliloquy.truth.grammar_table`.

Lark takes 0.2 s to be imported and to work the table out, which every process would spend that meets a number.
"""

import json
from pathlib import Path
from typing import Any

GRAMMAR = Path(__file__).with_name("quantity.lark")
TABLE = GRAMMAR.with_suffix(".json")
STARTS = ["quantity", "operand", "unit", "rate"]


def compiled() -> dict[str, Any]:
    """Returns terminals, rules and states; an action of a state shifts to state n, or reduces by rule -n-1."""
    from lark import Lark
    from lark.parsers.lalr_analysis import Shift

    lark = Lark(GRAMMAR.read_text("utf-8"), parser="lalr", start=STARTS)
    table = lark.parser.parser._parse_table
    rules = {rule: place for place, rule in enumerate(lark.rules)}
    states = {
        state: {
            token: target if action is Shift else -rules[target] - 1 if target in rules else None
            for token, (action, target) in actions.items()
        }
        for state, actions in table.states.items()
    }
    terminals = sorted(lark.terminals, key=lambda terminal: -terminal.priority)
    return {
        "terminals": {one.name: one.pattern.to_regexp() for one in terminals},
        "rules": [[rule.alias or rule.origin.name, len(rule.expansion), rule.origin.name] for rule in lark.rules],
        "states": [states[place] for place in range(len(states))],
        "starts": table.start_states,
        "ends": table.end_states,
    }


def written() -> str:
    return json.dumps(compiled(), ensure_ascii=False, separators=(",", ":"), sort_keys=False) + "\n"


if __name__ == "__main__":
    TABLE.write_text(written(), "utf-8")
