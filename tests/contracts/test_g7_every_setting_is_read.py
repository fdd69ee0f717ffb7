"""Fault G7: settings that nothing reads. Every setting of AppConfig is read by name somewhere in keisei/.

The scan is syntactic: ``x.seed`` counts for ``training.seed`` where ``x`` is that section, which it knows
from a name (``config.training.seed``, ``training.seed``), an annotation (``x: TrainingConfig``) or an
assignment (``x = config.training``). A name that its file annotates otherwise (``evaluation: Result``) is
something else. ``getattr`` and ``model_dump`` do not count: a setting is read where its name stands.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import keisei.config_schema
from keisei.config_schema import section_class, walk_settings

PACKAGE = Path(keisei.config_schema.__file__).parent
DEFINING_FILES = {"config_schema.py", "config_loader.py", "config_docs.py"}
SECTION_CLASSES = {key: cls for key, field in walk_settings() if (cls := section_class(field)) is not None}
SETTINGS = [key for key, field in walk_settings() if section_class(field) is None]


def spelled(node: ast.expr) -> str:
    """``c`` for the variable c and ``.c`` for an attribute a.b.c or a.b._c; empty for anything else."""
    if isinstance(node, ast.Attribute):
        return f".{node.attr.removeprefix('_')}"
    return node.id if isinstance(node, ast.Name) else ""


def identifiers(node: ast.expr) -> set[str]:
    """All names in an annotation, such as both of ``schema.ModelConfig | None``."""
    return {spelled(part).removeprefix(".") for part in ast.walk(node) if isinstance(part, ast.expr)}


def annotations(tree: ast.AST) -> Iterator[tuple[str, set[str]]]:
    """(name, identifiers of its annotation) of every annotated argument, variable and attribute."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.annotation is not None:
            yield node.arg, identifiers(node.annotation)
        elif isinstance(node, ast.AnnAssign):
            name = spelled(node.target)
            yield name, identifiers(node.annotation)
            yield f".{name.removeprefix('.')}", identifiers(node.annotation)  # a dataclass's field


def assignments(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """(name, name of the value) of every plain assignment, also of several at once."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = (
                    zip(target.elts, node.value.elts, strict=False)
                    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                    else [(target, node.value)]
                )
                yield from ((spelled(name), spelled(value)) for name, value in pairs)


def names_of_section(key: str, tree: ast.AST) -> set[str]:
    """What the section ``key`` is called in a file."""
    own_name, class_name = key.rpartition(".")[2], SECTION_CLASSES[key].__name__
    annotated = list(annotations(tree))
    names = {name for name, classes in annotated if class_name in classes}
    elsewhere = {name for name, _ in annotated} - names
    names |= {own_name, f".{own_name}"} - elsewhere
    return names | {name for name, value in assignments(tree) if value in names}


def settings_read(source: str) -> set[str]:
    """The settings that ``source`` reads."""
    tree = ast.parse(source)
    names = {key: names_of_section(key, tree) for key in SECTION_CLASSES}
    reads = {
        (spelled(node.value), node.attr)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    }
    return {
        setting
        for setting in SETTINGS
        for section, _, leaf in [setting.rpartition(".")]
        if any((name, leaf) in reads for name in names[section])
    }


def test_g7_every_setting_is_read_somewhere() -> None:
    files = [path for path in PACKAGE.rglob("*.py") if path.name not in DEFINING_FILES]
    read: set[str] = set()
    for path in files:
        read |= settings_read(path.read_text(encoding="utf-8"))
    unread = [key for key in SETTINGS if key not in read]
    assert not unread, f"{len(unread)} settings that nothing reads: {', '.join(unread)}"


def test_g7_scan_sees_reads_by_section_name() -> None:
    assert settings_read("print(config.training.seed)") == {"training.seed"}
    assert settings_read("def f(self): return self._training.seed") == {"training.seed"}
    assert settings_read("starts = env.starts\nprint(starts.sfens)") == {"env.starts.sfens"}


def test_g7_scan_sees_reads_through_annotation_and_assignment() -> None:
    assert settings_read("def f(c: EvaluationConfig): return c.seed") == {"evaluation.seed"}
    assert settings_read("def f(c: config_schema.ModelConfig): return c.blocks") == {"model.blocks"}
    assert settings_read("def f(c: ModelConfig | None): return c.blocks") == {"model.blocks"}
    assert settings_read("t = config.training\nprint(t.epochs)") == {"training.epochs"}
    assert settings_read("e, t = config.env, config.training\nprint(t.epochs)") == {"training.epochs"}
    assert settings_read(
        "class A:\n  settings: RecordConfig\n  def f(self): return self.settings.console"
    ) == {"record.console"}


def test_g7_scan_does_not_take_other_things_for_reads() -> None:
    assert settings_read("player.seed; rng.seed; name.games") == set()
    assert settings_read("def f(evaluation: Result): return evaluation.games") == set()
    assert settings_read("class A:\n  model: Network\n  def f(self): return self.model.blocks") == set()
    assert settings_read("training.seed = 3") == set()
    assert settings_read("'training.seed'  # training.seed") == set()
    assert settings_read("getattr(training, 'seed'); training.model_dump()") == set()
    assert settings_read("evaluation.opponents") == {"evaluation.opponents"}
    assert settings_read("training.opponents") == set()
