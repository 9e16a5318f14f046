"""Decides whether the vetted worker may run a snippet, from its syntax tree alone and without running any of it.

The worker runs many jobs in one process. Code that passes computes with its own values and with math and cmath, and
reaches nothing that outlives it. The vet refuses everything that is not listed, and the fork lane runs that.
"""

import ast
import builtins as python
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import NoneType
from typing import Any

from .verdicts import Bindings, Verdict, find
from .vocabulary import BUILTINS, MODULES, PUBLIC

MAX_NODES = 20_000
_ALLOWED = (
    *(ast.Assert, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Break, ast.Continue, ast.Expr, ast.For),
    *(ast.FunctionDef, ast.If, ast.Import, ast.ImportFrom, ast.Pass, ast.Return),
    *(ast.BinOp, ast.BoolOp, ast.Call, ast.Compare, ast.Constant, ast.Dict, ast.FormattedValue, ast.IfExp),
    *(ast.JoinedStr, ast.Lambda, ast.List, ast.Name, ast.NamedExpr, ast.Set, ast.Slice, ast.Subscript, ast.Tuple),
    *(ast.UnaryOp, ast.DictComp, ast.GeneratorExp, ast.ListComp, ast.SetComp),
    *(ast.arg, ast.arguments, ast.comprehension, ast.keyword, NoneType),
    *(ast.Add, ast.BitAnd, ast.BitOr, ast.BitXor, ast.Div, ast.FloorDiv, ast.LShift, ast.Mod, ast.Mult, ast.Pow),
    *(ast.RShift, ast.Sub, ast.And, ast.Or, ast.Invert, ast.Not, ast.UAdd, ast.USub),
    *(ast.Eq, ast.Gt, ast.GtE, ast.In, ast.Is, ast.IsNot, ast.Lt, ast.LtE, ast.NotEq, ast.NotIn),
)
# Fields that hold no node, or one that the node type's own check reads.
_LEAVES = ("arg", "conversion", "ctx", "id", "is_async", "kind", "name", "simple", "type_comment")
_CHILDREN: dict[type, tuple[str, ...]] = {
    kind: tuple(name for name in getattr(kind, "_fields", ()) if name not in _LEAVES) for kind in _ALLOWED
}
_CHILDREN |= dict.fromkeys((ast.Constant, ast.Import, ast.ImportFrom), ())
_CONSTANTS = (bool, int, float, complex, str, NoneType)
# Before it is bound, a variable of such a name means the builtin, which the scan could not tell.
_OTHER_BUILTINS = frozenset(dir(python)) - BUILTINS


@dataclass(frozen=True, kw_only=True, slots=True)
class VetResult:
    # Why the fast lane must refuse the snippet; None if it need not.
    refused: str | None
    imports: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()


def vet(tree: ast.Module) -> VetResult:
    """Returns what the scan finds, without the verdicts if a star import may have bound any name."""
    scan = _Scan(tree.body)
    nodes = sum(scan.read(place) for place in range(len(tree.body)))
    return VetResult(
        refused=f"more than {MAX_NODES} syntax nodes" if nodes > MAX_NODES else scan.refused(),
        imports=tuple(sorted(scan.imports)),
        verdicts=find(tree.body, scan.bindings) if scan.closed else (),
    )


class _Scan:
    """One pass over the syntax tree, statement by statement; call `refused` after all of them are read."""

    def __init__(self, body: list[ast.stmt]) -> None:
        self._body = body
        self.imports: set[str] = set()
        self.bindings = Bindings()
        # False if a star import may have bound any name.
        self.closed = True
        self._place = 0
        self._loads: dict[str, int] = {}
        self._bound: dict[str, int] = {}
        self._attributes: list[ast.Attribute] = []
        self._refusals: list[tuple[int, str]] = []

    def read(self, place: int) -> int:
        """Reads a top-level statement without recursion, since the snippet sets its depth; counts the nodes."""
        self._place = place
        nodes: list[ast.AST] = [self._body[place]]
        for node in nodes:
            kind = type(node)
            fields = _CHILDREN.get(kind)
            if fields is None:
                nodes.extend(self._unlisted(node))
                continue
            check = _CHECKS.get(kind)
            if check is not None:
                check(self, node)
            for field in fields:
                child = getattr(node, field)
                if type(child) is list:
                    nodes += child
                else:
                    nodes.append(child)
        return len(nodes)

    def refused(self) -> str | None:
        """Returns the first refusal in order of lines."""
        refusals = [*self._refusals, *self._wrong_names(), *self._wrong_attributes()]
        return "line {}: {} is not vetted".format(*min(refusals)) if refusals else None

    def _wrong_names(self) -> Iterator[tuple[int, str]]:
        for name, line in self._bound.items():
            origins = self.bindings.origins[name]
            if name.startswith("__"):
                yield line, f"the name {name}"
            # An attribute may only be read from the module itself, whatever the code does before.
            elif not origins.isdisjoint(MODULES) and (len(origins) > 1 or name in BUILTINS):
                yield line, f"{name} as a module and as something else"
        for name, line in self._loads.items():
            if self._module(name) is not None:
                yield line, f"the module {name} as a value"
            elif name.startswith("__") or name in _OTHER_BUILTINS or not (name in self._bound or name in BUILTINS):
                yield line, f"the name {name}"

    def _wrong_attributes(self) -> Iterator[tuple[int, str]]:
        for node in self._attributes:
            module = self._module(node.value.id) if isinstance(node.value, ast.Name) else None
            if module is None or node.attr not in PUBLIC[module]:
                yield node.lineno, f"the attribute {node.attr}"

    def _module(self, name: str) -> str | None:
        origins = self.bindings.origins.get(name, ())
        return next((module for module in MODULES if module in origins), None)

    def _refuse(self, node: ast.AST, what: str) -> None:
        self._refusals.append((getattr(node, "lineno", self._body[self._place].lineno), what))

    def _bind(self, node: ast.AST, name: str, origin: str = "", place: int | None = None) -> None:
        self._bound.setdefault(name, getattr(node, "lineno", 0))
        self.bindings.add(name, origin, self._place if place is None else place)

    def _unlisted(self, node: ast.AST) -> Iterable[ast.AST]:
        if isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and isinstance(node.ctx, ast.Load):
                self._attributes.append(node)
                return ()
            self._refuse(node, f"the attribute {node.attr}")
        else:
            self._refuse(node, type(node).__name__.lower())
            # Any name in it may be bound at any time: `global x`, `except E as x`, `case x`.
            for _, value in ast.iter_fields(node):
                for name in value if isinstance(value, list) else [value]:
                    if isinstance(name, str):
                        self._bind(node, name, place=len(self._body))
        return (child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr_context))

    def _name(self, node: ast.Name) -> None:
        if type(node.ctx) is ast.Load:
            self._loads.setdefault(node.id, node.lineno)
        else:
            self._bind(node, node.id)

    def _constant(self, node: ast.Constant) -> None:
        if type(node.value) not in _CONSTANTS:
            self._refuse(node, f"the constant {node.value!r}"[:100])

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            top = alias.name.partition(".")[0]
            self.imports.add(top)
            self._bind(node, alias.asname or top, alias.name if alias.asname else top)
            if alias.name not in MODULES:
                self._refuse(node, f"the module {alias.name}")

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if not node.level:
            self.imports.add(module.partition(".")[0])
        public = PUBLIC.get(module, {}) if not node.level else {}
        for alias in node.names:
            if alias.name == "*":
                self._import_star(node, module, public)
            else:
                self._bind(node, alias.asname or alias.name, f"{module}.{alias.name}" if public else "")
                if alias.name not in public:
                    self._refuse(node, f"{alias.name} of the module {'.' * node.level}{module}")

    def _import_star(self, node: ast.ImportFrom, module: str, public: Iterable[str]) -> None:
        self.closed = self.closed and bool(public)
        for name in public:
            self._bind(node, name, f"{module}.{name}")
        if not public or node is not self._body[self._place]:
            self._refuse(node, f"all of the module {'.' * node.level}{module}")

    def _function(self, node: ast.FunctionDef) -> None:
        self._bind(node, node.name)
        if node.decorator_list:
            self._refuse(node, "a decorator")

    def _parameter(self, node: ast.arg) -> None:
        self._bind(node, node.arg)

    def _parameters(self, node: ast.arguments) -> None:
        if node.vararg or node.kwarg:
            self._refuse(node.vararg or node.kwarg or node, "a star parameter")

    def _keyword(self, node: ast.keyword) -> None:
        # `file` is an argument of print.
        if node.arg is None or node.arg == "file" or node.arg.startswith("__"):
            self._refuse(node, f"the keyword {node.arg or '**'}")

    def _clause(self, node: ast.comprehension) -> None:
        if node.is_async:
            self._refuse(node.target, "async for")

    def _dict(self, node: ast.Dict) -> None:
        if None in node.keys:
            self._refuse(node, "** in a dict")


_CHECKS: dict[type, Callable[[_Scan, Any], None]] = {
    ast.Constant: _Scan._constant,
    ast.Dict: _Scan._dict,
    ast.FunctionDef: _Scan._function,
    ast.Import: _Scan._import,
    ast.ImportFrom: _Scan._import_from,
    ast.Name: _Scan._name,
    ast.arg: _Scan._parameter,
    ast.arguments: _Scan._parameters,
    ast.comprehension: _Scan._clause,
    ast.keyword: _Scan._keyword,
}
