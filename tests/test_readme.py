"""README and docs tell the truth: snippets run, commands exist, the tree is the real one, links lead somewhere."""

import doctest
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
README = REPOSITORY / "README.md"
PAGES = [*sorted(REPOSITORY.glob("*.md")), *sorted((REPOSITORY / "docs").rglob("*.md"))]
KEISEI = [sys.executable, "-c", "from keisei.cli import main; main()"]

#: Folders whose every entry the README's tree names.
FULLY_LISTED = (Path(), Path("configs"), Path("docs"), Path("keisei"))
#: Read by tools, not by people.
UNLISTED = {".clang-format", ".gitignore", ".pre-commit-config.yaml"}

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
#: `path::name` in a page: a function of a source file, or a test.
PLACE = re.compile(r"`([\w/.]+\.(?:py|cpp|hpp|sh))::(\w+)`")


def name_of(page: Path) -> str:
    return page.relative_to(REPOSITORY).as_posix()


def fences(page: Path, language: str) -> list[str]:
    return [text for found, text in FENCE.findall(page.read_text(encoding="utf-8")) if found == language]


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


# ---- snippets and commands


@pytest.mark.parametrize("page", [page for page in PAGES if fences(page, "python")], ids=name_of)
def test_the_python_of_a_page_runs(page: Path) -> None:
    namespace: dict[str, object] = {}
    for snippet in fences(page, "python"):
        if ">>>" not in snippet:
            exec(compile(snippet, name_of(page), "exec"), namespace)
            continue
        examples = doctest.DocTestParser().get_doctest(snippet, namespace, name_of(page), name_of(page), 0)
        report: list[str] = []
        results = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(
            examples, out=report.append, clear_globs=False
        )
        assert results.failed == 0, "".join(report)
        namespace = examples.globs


def commands() -> Iterator[tuple[str, str]]:
    """Each `$ keisei …` line of the README with the output shown below it."""
    for block in fences(README, "console"):
        for chunk in re.split(r"^\$ ", block, flags=re.M)[1:]:
            line, _, output = chunk.partition("\n")
            if line.startswith("keisei "):
                yield line, output.strip()


@pytest.mark.parametrize(("line", "output"), [pytest.param(*pair, id=pair[0]) for pair in commands()])
def test_a_command_of_the_readme_works(line: str, output: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    if output:
        finished = subprocess.run([*KEISEI, *words], text=True, capture_output=True, check=True)
        assert finished.stdout.strip().endswith(output)
        return
    names = [word for word in words if re.fullmatch(r"[a-z-]+", word) and not word.startswith("-")]
    finished = subprocess.run([*KEISEI, *names, "--help"], text=True, capture_output=True, check=True)
    for option in (word for word in words if word.startswith("--")):
        assert option in finished.stdout, f"{line!r}: no such option"


# ---- the tree


def tracked_files() -> set[Path]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=REPOSITORY, text=True, capture_output=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout; clone the repository to compare its tree")
    files = {Path(line) for line in listed.stdout.splitlines()}
    return {path for path in files if (REPOSITORY / path).is_file()}


def readme_tree() -> set[Path]:
    """The paths of the first `text` block after the heading: two spaces a level, a name, its description."""
    section = README.read_text(encoding="utf-8").split("## The tree", 1)[1]
    block = next(text for language, text in FENCE.findall(section) if language == "text")
    paths: set[Path] = set()
    parents: list[Path] = [Path()]
    for line in filter(None, block.splitlines()):
        name = line.split()[0]
        level = (len(line) - len(line.lstrip(" "))) // 2
        path = parents[level] / name
        parents[level + 1 :] = [path]
        paths.add(path)
    return paths


def test_everything_in_the_readmes_tree_exists() -> None:
    missing = [path.as_posix() for path in readme_tree() if not (REPOSITORY / path).exists()]
    assert missing == []


@pytest.mark.parametrize("folder", FULLY_LISTED, ids=str)
def test_the_readmes_tree_forgets_nothing(folder: Path) -> None:
    inside = [path.relative_to(folder) for path in tracked_files() if path.is_relative_to(folder)]
    expected = {folder / path.parts[0] for path in inside if path.parts[0] not in UNLISTED | {"__init__.py"}}
    forgotten = sorted(path.as_posix() for path in expected - readme_tree())
    assert forgotten == [], "name them in README.md, section 'The tree'"


# ---- links and places


def headings(page: Path) -> set[str]:
    """Anchors as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", prose(page), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_inside_the_repository_resolve(page: Path) -> None:
    broken = []
    for link in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in headings(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_functions_and_tests_that_a_page_names_exist(page: Path) -> None:
    absent = [
        f"{path}::{name}"
        for path, name in PLACE.findall(prose(page))
        if not (REPOSITORY / path).is_file()
        or not re.search(rf"\b{name}\b", (REPOSITORY / path).read_text(encoding="utf-8"))
    ]
    assert absent == []
