"""Makes a program of what a teacher types: Python, or an expression alone."""

import ast

from soliloquy.runtime.code import unfenced
from soliloquy.v1.conversation_pb2 import CodeAttempt

# A name that says nothing about the student's answer.
_VALUE = "value"
_MOST_NAMES = 20


def program_of(text: str) -> CodeAttempt:
    """Returns a program that reports what it assigns, or the expression's value; Python itself says what is wrong."""
    code = unfenced(text).strip()
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return CodeAttempt(code=code)
    match body:
        case [ast.Expr(value=ast.Call(func=ast.Name(id="print")))]:
            return CodeAttempt(code=code)
        case [ast.Expr(value=expression)]:
            return CodeAttempt(code=f"{_VALUE} = {ast.unparse(expression)}", result_variables=[_VALUE])
    targets = [target for one in body for target in (one.targets if isinstance(one, ast.Assign) else [])]
    names = dict.fromkeys(node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
    return CodeAttempt(code=code, result_variables=[*names][-_MOST_NAMES:])
