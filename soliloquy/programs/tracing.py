"""Traces the code of a solution statement by statement without running it."""

import ast
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from soliloquy.programs.terms import (
    DECIDED,
    MOST_ROUNDS,
    CannotTrace,
    Scope,
    Term,
    as_integer,
    combine,
    evaluate,
    evaluate_condition,
    make_term,
    number,
    numbers_in,
)

_MOST_CHARACTERS = 8_000


# Judges, measures and the scripted writer trace the same code.
@lru_cache(256)
def trace_solution(code: str, variable: str = "") -> Term:
    """Returns the result of `solution()`, or of a script's variable, with its derivation; raises CannotTrace."""
    if len(code) > _MOST_CHARACTERS:
        raise CannotTrace(f"it has {len(code)} characters; {_MOST_CHARACTERS} are read")
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise CannotTrace(f"it is no Python ({type(error).__name__})") from error
    known = Scope()
    try:
        returned = _returned(_body(tree, variable), known)
        if variable:
            returned = number(_name(variable), known)
    except (ArithmeticError, ValueError, IndexError) as error:
        raise CannotTrace(f"it cannot be calculated: {error}") from error
    except RecursionError as error:
        raise CannotTrace("its calculation is nested too deeply") from error
    if returned is None:
        raise CannotTrace("it returns nothing")
    return _decided(returned, known)


@lru_cache(4096)
def structure_of(code: str) -> str:
    """Returns the operations of a solution without its numbers, "((# + #) / #)"; empty if it cannot be traced."""
    try:
        return _structure(trace_solution(code))
    except CannotTrace:
        return ""


def _structure(term: Term) -> str:
    return f"({f' {term.operation} '.join(map(_structure, term.parts))})" if term.operation else "#"


def _body(tree: ast.Module, variable: str) -> Sequence[ast.stmt]:
    if variable:
        return tree.body
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "solution"]
    if not functions:
        raise CannotTrace("it has no function solution()")
    return functions[-1].body


def _decided(returned: Term, known: Scope) -> Term:
    # Both branches may use the same number of the text, and a comparison with zero uses none.
    values = {0.0, *(term.value for term in returned.numbers)}
    steps = {id(term) for term in returned.walk()}
    parts = {
        id(term): term
        for term in known.decided
        if id(term) not in steps and (term.operation or term.value not in values)
    }
    return make_term(known, returned.value, DECIDED, [returned, *parts.values()]) if parts else returned


def _returned(body: Iterable[ast.stmt], known: Scope) -> Term | None:
    """Returns None if the statements end without a return."""
    for statement in body:
        if (returned := _followed(statement, known)) is not None:
            return returned
    return None


def _followed(statement: ast.stmt, known: Scope) -> Term | None:
    match statement:
        case ast.Return(value=ast.expr() as value):
            return _at_line(number(value, known), statement)
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=value)
            | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
        ):
            known.names[name] = _named(evaluate(value, known), name, statement)
        case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
            together = ast.BinOp(left=_name(name), op=op, right=value)
            known.names[name] = _named(evaluate(together, known), name, statement)
        case ast.If(test=test, body=body, orelse=orelse):
            met, numbers = evaluate_condition(test, known)
            left_undone = ast.Module(body=orelse if met else body, type_ignores=[])
            known.decided.extend([*numbers, *numbers_in(left_undone, known)])
            return _returned(body if met else orelse, known)
        case ast.For(target=ast.Name(id=name), iter=over, body=body, orelse=[]):
            return _for_each(name, over, body, known)
        case ast.Expr(value=ast.Constant()) | ast.Pass() | ast.Import() | ast.ImportFrom():
            pass
        case _:
            raise CannotTrace(f"line {statement.lineno} is no step of arithmetic")
    return None


def _named(value: Term | list[Term], name: str, statement: ast.stmt) -> Term | list[Term]:
    # A term keeps its first name.
    return _at_line(replace(value, name=name), statement) if isinstance(value, Term) and not value.name else value


def _at_line(term: Term, statement: ast.stmt) -> Term:
    return term if term.line else replace(term, line=statement.lineno)


def _for_each(name: str, over: ast.expr, body: Sequence[ast.stmt], known: Scope) -> Term | None:
    match over:
        case ast.Call(func=ast.Name(id="range"), args=bounds, keywords=[]):
            terms = [number(bound, known) for bound in bounds]
            counts = range(*(as_integer(term, over) for term in terms))
            times = terms[0] if len(terms) == 1 else make_term(known, float(len(counts)), "", ())
            if counts and (steps := _same_each_time(name, body)):
                _multiply(times, steps, known)
                return None
            known.decided.append(times)
            rounds = [make_term(known, float(count), "round", ()) for count in counts[: MOST_ROUNDS + 1]]
        case _:
            elements = evaluate(over, known)
            if not isinstance(elements, list):
                raise CannotTrace(f"{ast.unparse(over)[:60]!r} is nothing to go through")
            rounds = elements
    for each in rounds:
        if next(known.rounds, None) is None:
            raise CannotTrace(f"its loops go round more than {MOST_ROUNDS} times")
        known.names[name] = each
        if (returned := _returned(body, known)) is not None:
            return returned
    return None


def _same_each_time(name: str, body: Sequence[ast.stmt]) -> list[ast.AugAssign]:
    """Returns the additions and subtractions of a loop, if its body has nothing else and they never change."""
    steps = [step for part in body if (step := _added(part)) is not None]
    changed = {name, *(ast.unparse(step.target) for step in steps)}
    read_again = any(isinstance(node, ast.Name) and node.id in changed for one in steps for node in ast.walk(one.value))
    return [] if len(steps) < len(body) or read_again else steps


def _added(statement: ast.stmt) -> ast.AugAssign | None:
    """Matches `total += 5` and `total = total + 5`."""
    match statement:
        case ast.AugAssign(target=ast.Name(), op=ast.Add() | ast.Sub()):
            return statement
        case ast.Assign(
            targets=[ast.Name(id=name) as target],
            value=ast.BinOp(left=ast.Name(id=before), op=(ast.Add() | ast.Sub()) as op, right=right),
        ) if before == name:
            return ast.copy_location(ast.AugAssign(target=target, op=op, value=right), statement)
    return None


def _multiply(times: Term, steps: Iterable[ast.AugAssign], known: Scope) -> None:
    """Replaces a loop by multiplications, as the rules expect them: adding 5 in 7 rounds is 7 times 5."""
    for step in steps:
        each, target = number(step.value, known), ast.unparse(step.target)
        # Counting by one adds the number of rounds.
        added = times if (each.value, each.operation) == (1, "") else combine(known, ast.Mult(), times, each)
        known.names[target] = _named(combine(known, step.op, number(_name(target), known), added), target, step)


def _name(name: str) -> ast.Name:
    return ast.Name(id=name, ctx=ast.Load())
