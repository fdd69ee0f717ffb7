"""Rules about the source that a program can check. Each takes a file and yields what breaks it, by line."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

BROAD = {"Exception", "BaseException"}
MUTATORS = {
    "add",
    "append",
    "appendleft",
    "clear",
    "discard",
    "extend",
    "insert",
    "pop",
    "popitem",
    "popleft",
    "remove",
    "setdefault",
    "update",
}
# Halves, and numbers that turn one unit into another, are their own names; so are counts up to this one.
UNITS = {0.5, 1e-9, 1e-6, 1e-3, 1e3, 1e6, 1e9, 60, 100, 3600}
SMALL = 4
# A marker for a tool is not a reason for people.
MARKERS = re.compile(r"#\s*(noqa(:\s*[A-Z0-9, ]+)?|type:\s*ignore(\[[\w, -]+\])?|pragma:\s*no cover)\s*")


@dataclass(frozen=True)
class Source:
    """A file of Python: its tree and its comments."""

    name: str
    text: str

    @classmethod
    def of(cls, path: Path, root: Path) -> "Source":
        return cls(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def comments(self) -> dict[int, str]:
        """Line → comment."""
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        return {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}

    def reason_at(self, *lines: int) -> str:
        """What the comments on these lines say to people."""
        return " ".join(MARKERS.sub("", self.comments.get(line, "")) for line in lines).strip(" #")

    def at(self, node: ast.AST, what: str) -> str:
        return f"{self.name}:{getattr(node, 'lineno', 0)}: {what}"


def swallowed_exceptions(source: Source) -> Iterator[str]:
    """A bare except; a broad one that neither raises nor gives its reason; a handler that does nothing silently."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ExceptHandler):
            yield from _swallowed(source, node)
        elif _suppresses_everything(node) and not _reason_for(source, node):
            yield source.at(node, "suppresses everything without a reason")


def _suppresses_everything(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and _name(node.func) == "suppress"
        and bool(BROAD & {_name(argument) for argument in node.args})
    )


def _swallowed(source: Source, handler: ast.ExceptHandler) -> Iterator[str]:
    if handler.type is None:
        yield source.at(handler, "bare except")
        return
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    raises = any(isinstance(node, ast.Raise) for node in ast.walk(handler))
    if BROAD & {_name(kind) for kind in caught} and not raises and not _reason_for(source, handler):
        yield source.at(handler, "broad except without a reason in a comment")
    if all(isinstance(statement, ast.Pass) for statement in handler.body) and not _reason_for(
        source, handler
    ):
        yield source.at(handler, "an error is passed over without a reason in a comment")


def _reason_for(source: Source, node: ast.AST) -> str:
    """A comment on the lines of the clause, the line before it, or at the beginning of its body."""
    first = getattr(node, "lineno", 0)
    body = getattr(node, "body", None)
    last = body[0].lineno if body else getattr(node, "end_lineno", first)
    return source.reason_at(*range(first - 1, last + 1))


def prints(source: Source) -> Iterator[str]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            yield source.at(node, "print(): log it, return it, or use the console of the command")


def ignored_types(source: Source) -> Iterator[str]:
    for line, comment in source.comments.items():
        found = re.search(r"type:\s*ignore(\[[\w, -]+\])?", comment)
        if found and (found[1] is None or not source.reason_at(line)):
            yield f"{source.name}:{line}: type: ignore needs [the rule] and a reason"


def magic_numbers(source: Source) -> Iterator[str]:
    """Numbers inside functions that say nothing about themselves: a name at the top of the file would."""
    for function in ast.walk(source.tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            bodies = [node for statement in function.body for node in ast.walk(statement)]
            powers = {part for node in bodies if _is_power(node) for part in ast.walk(node)}
            for node in bodies:
                if _is_magic(source, node) and node not in powers:
                    yield source.at(node, f"magic number {ast.unparse(node)}")


def _is_magic(source: Source, node: ast.AST) -> bool:
    if not isinstance(node, ast.Constant) or type(node.value) not in (int, float):
        return False
    if node.value in UNITS or (float(node.value).is_integer() and abs(node.value) <= SMALL):
        return False
    return not (ast.get_source_segment(source.text, node) or "").startswith(("0x", "0o", "0b"))


def _is_power(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow | ast.LShift)


def managers(source: Source) -> Iterator[str]:
    """Every class that calls itself a manager."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ClassDef) and node.name.endswith("Manager"):
            yield node.name


def global_state(source: Source) -> Iterator[str]:
    """Names of a module that its own functions change: ``file:name``."""
    names = {name for statement in source.tree.body for name in _assigned(statement)}
    for function in ast.walk(source.tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        local = {
            name
            for node in ast.walk(function)
            for name in (*_assigned(node), *([node.arg] if isinstance(node, ast.arg) else []))
        }
        for node in ast.walk(function):
            if isinstance(node, ast.Global):
                yield from (f"{source.name}:{name}" for name in node.names)
            elif (name := _changed(node)) in names - local:
                yield f"{source.name}:{name}"


def _assigned(node: ast.AST) -> list[str]:
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign | ast.For | ast.comprehension | ast.NamedExpr):
        targets = [node.target]
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        targets = [node.optional_vars]
    parts = [part for target in targets for part in ast.walk(target)]
    return [part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]


def _changed(node: ast.AST) -> str:
    """The plain name that a statement changes in place, if it is one."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS:
        return _name(node.func.value) if isinstance(node.func.value, ast.Name) else ""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
        return node.value.id if isinstance(node.value, ast.Name) else ""
    return ""


def filled_later(source: Source) -> Iterator[str]:
    """Attributes that begin as None without saying so in their type: nobody would be told to check them."""
    for function in ast.walk(source.tree):
        if isinstance(function, ast.FunctionDef) and function.name == "__init__":
            for node in ast.walk(function):
                is_none = isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
                if is_none and node.value.value is None and isinstance(node.targets[0], ast.Attribute):
                    yield source.at(node, f"self.{node.targets[0].attr} = None without `: … | None`")


def twins(source: Source) -> Iterator[str]:
    """A function and its async twin: two places to keep alike."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ClassDef | ast.Module):
            functions = [
                part for part in node.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)
            ]
            names = {function.name for function in functions}
            yield from (source.at(node, name) for name in names if f"{name}_async" in names)


def mentions(source: Source, pattern: str) -> Iterator[str]:
    """Lines of code, comments left out, in which a pattern stands."""
    for node in ast.walk(source.tree):
        word = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if re.search(pattern, word):
            yield source.at(node, word)


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
