"""Compiles `quantity.lark` to the LALR table that `quantity_grammar` runs: `python -m soliloquy.truth.grammar_table`.

Lark takes 0.2 s to be imported and to work the table out, which every process would spend that meets a number.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

GRAMMAR = Path(__file__).with_name("quantity.lark")
TABLE = GRAMMAR.with_suffix(".json")
STARTS = ["quantity", "operand", "unit"]


def compiled() -> dict[str, Any]:
    """Returns terminals, rules and states; an action of a state shifts to state n, or reduces by rule -n-1."""
    from lark import Lark
    from lark.parsers.lalr_analysis import Shift

    lark = Lark(GRAMMAR.read_text("utf-8"), parser="lalr", start=STARTS)
    table = lark.parser.parser._parse_table
    rules = {rule: place for place, rule in enumerate(lark.rules)}
    # Lark numbers the states differently each time.
    order = _reached(table.start_states, table.states, Shift)
    states = [
        {
            token: order[target] if action is Shift else -rules[target] - 1
            for token, (action, target) in sorted(table.states[state].items())
        }
        for state in order
    ]
    terminals = sorted(lark.terminals, key=lambda terminal: -terminal.priority)
    return {
        "terminals": {one.name: one.pattern.to_regexp() for one in terminals},
        "rules": [[_meaning(rule), len(rule.expansion), rule.origin.name] for rule in lark.rules],
        "states": states,
        "starts": {name: order[table.start_states[name]] for name in STARTS},
        "ends": {name: order[table.end_states[name]] for name in STARTS},
    }


def _meaning(rule: Any) -> str:
    """Returns the name of what a rule means; none for a single part that stands for itself, as `?` has it."""
    is_part = rule.options.expand1 and len(rule.expansion) == 1
    return str(rule.alias or ("" if is_part else rule.origin.name))


def _reached(starts: Mapping[str, int], states: Mapping[int, Any], shift: Any) -> dict[int, int]:
    """Returns the place of each state in the order in which the sorted tokens lead to them."""
    order = [starts[name] for name in STARTS]
    for state in order:
        targets = [target for _, (action, target) in sorted(states[state].items()) if action is shift]
        order += [target for target in dict.fromkeys(targets) if target not in order]
    return {state: place for place, state in enumerate(order)}


def written() -> str:
    return json.dumps(compiled(), ensure_ascii=False, separators=(",", ":")) + "\n"


if __name__ == "__main__":
    TABLE.write_text(written(), "utf-8")
