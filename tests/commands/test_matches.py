"""`keisei match`, `tournament`, `ladder` and `tsume` from the outside: what they print, keep and refuse."""

import json
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from command_line import ENVIRONMENT, KEISEI, call_keisei
from small_checkpoints import make_run, save_checkpoint

from keisei.record.journal import JournalReader
from keisei.record.machine import find_program
from keisei.shogi import read_record

Capture = pytest.CaptureFixture[str]
ROGUE = Path(__file__).parents[1] / "evaluation" / "programs" / "rogue_engine.py"


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def rogue(behaviour: str, *arguments: object) -> str:
    return "usi:" + shlex.join([sys.executable, str(ROGUE), behaviour, *map(str, arguments)])


# ---- match


def test_a_match_is_reported_by_colour_reason_and_elo(capsys: Capture) -> None:
    called = call_keisei(capsys, "match", "ab1", "random", "--games", 40)
    assert called.code == 0
    lines = called.out.splitlines()
    assert lines[0].startswith("ab1 against random: 100.0%")
    assert lines[1].startswith("  as black: 100.0%")
    assert "20 won" in lines[1]
    assert lines[2].startswith("  as white: 100.0%")
    assert lines[3].startswith("  ended by checkmate")
    assert lines[4].startswith("Elo difference above +")
    assert lines[4].endswith("(95 %, from 20 pairs)")


def test_the_same_seed_plays_the_same_match(capsys: Capture) -> None:
    command = ("match", "random", "random", "--games", 10, "--max-plies", 80)
    reports = [call_keisei(capsys, *command, "--seed", seed).out for seed in (1, 1, 2)]
    assert reports[0] == reports[1]


@pytest.mark.parametrize("format_name", ["kif", "csa", "usi"])
def test_games_are_saved_and_can_be_read_again(capsys: Capture, tmp_path: Path, format_name: str) -> None:
    folder = tmp_path / "games"
    command = ("match", "greedy", "mate1", "--games", 4, "--save", folder, "--format", format_name)
    assert call_keisei(capsys, *command).code == 0
    names = [f"{pair:04d}-{color}.{format_name}" for pair in (1, 2) for color in ("black", "white")]
    assert sorted(path.name for path in folder.iterdir()) == names
    record = read_record(folder / names[0])
    assert len(record.moves) > 10
    if format_name != "usi":
        assert (record.black, record.white) == ("greedy", "mate1")
        assert record.result is not None
        assert read_record(folder / names[1]).black == "mate1"


@pytest.mark.parametrize("behaviour", ["illegal", "resigns", "dies on go"])
@pytest.mark.parametrize("format_name", ["kif", "csa", "usi"])
def test_games_that_engines_forfeit_are_saved_too(
    capsys: Capture, tmp_path: Path, behaviour: str, format_name: str
) -> None:
    called = call_keisei(
        capsys, "match", rogue(behaviour), "random", "--games", 2, "--save", tmp_path, "--format", format_name
    )
    assert called.code == 0
    assert "2 lost" in called.out
    assert len(list(tmp_path.glob(f"*.{format_name}"))) == 2


def test_what_engines_did_wrong_is_told_a_few_times(capsys: Capture) -> None:
    called = call_keisei(capsys, "match", rogue("illegal"), "random", "--games", 10)
    assert "ended by illegal_move 10" in called.out
    assert called.out.count("played '1a1b', which is illegal") == 3
    assert "and 7 more such games" in called.out


def test_a_sequential_test_stops_the_match(capsys: Capture) -> None:
    called = call_keisei(
        capsys, "match", "ab1", "random", "--games", 2000, "--sprt", "0,200", "--max-plies", 300
    )
    assert called.code == 0
    assert "Sequential test of +200 against +0 Elo: stronger after" in called.out
    assert "2000" not in called.out


def test_openings_come_from_a_file(capsys: Capture, tmp_path: Path) -> None:
    openings = tmp_path / "openings.txt"
    openings.write_text("startpos moves 7g7f 3c3d\nstartpos moves 2g2f\n")
    command = ("match", "random", "random", "--openings", openings, "--max-plies", 20)
    assert call_keisei(capsys, *command, "--games", 4, "--save", tmp_path, "--format", "usi").code == 0
    starts = {read_record(path).start_sfen for path in tmp_path.glob("*.usi")}
    assert len(starts) == 2
    call_keisei(capsys, *command, "--games", 6).assert_refused(
        2, "enough for 4 games, not for 6", "--games 4"
    )


def test_illegal_openings_are_refused_with_their_line(capsys: Capture, tmp_path: Path) -> None:
    openings = tmp_path / "openings.txt"
    openings.write_text("startpos moves 7g7f\nstartpos moves 7g7f 7g7f\n")
    command = ("match", "random", "random", "--games", 4, "--openings", openings)
    call_keisei(capsys, *command).assert_refused(1, "line 2", "illegal")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("random", "nobody"), 2, ("unknown player 'nobody'",)),
        (("random", "random", "--games", 3), 2, ("even",)),
        (("random", "random", "--sprt", "x"), 2, ("--sprt 0,20",)),
        (("random", "usi:/no/such/engine"), 1, ("no program", "'/no/such/engine'")),
        (("random", "policy:/no/such/run"), 1, ("/no/such/run",)),
        (("random", "greedy", "--device", "abacus"), 0, ()),
    ],
)
def test_bad_input_is_one_clear_line(
    capsys: Capture, arguments: tuple[object, ...], code: int, words: tuple[str, ...]
) -> None:
    called = call_keisei(capsys, "match", *arguments)
    if code:
        called.assert_refused(code, *words)


def test_g5_a_damaged_or_wrong_checkpoint_is_refused(capsys: Capture, tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path)
    manifest = json.loads((path / "manifest.json").read_text())
    weights = path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4])
    called = call_keisei(capsys, "match", f"policy:{path}", "random")
    called.assert_refused(1, "model.safetensors is damaged", "use an older checkpoint")
    manifest["architecture"]["channels"] = 8
    (path / "manifest.json").write_text(json.dumps(manifest))
    call_keisei(capsys, "match", f"policy:{path}", "random").assert_refused(1, "manifest.json is damaged")


def test_results_so_far_are_kept_when_games_can_no_longer_be_saved(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "games" / "0002-white.kif").mkdir(parents=True)
    command = ("match", "greedy", "random", "--games", 12, "--save", tmp_path / "games")
    called = call_keisei(capsys, *command)
    called.assert_refused(1, "cannot save games")
    assert called.out.startswith("greedy against random: ")


def test_results_so_far_are_reported_after_ctrl_c(tmp_path: Path) -> None:
    # Some of these games end long before the ply cap, so that others are unfinished when the signal comes.
    match = [KEISEI, "match", "greedy", "greedy", "--games", "20000", "--max-plies", "40"]
    process = subprocess.Popen(
        [*match, "--save", tmp_path, "--format", "usi"],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while len(list(tmp_path.glob("*.usi"))) < 4:
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.05)
            pytest.fail(f"the match ended by itself: {process.communicate()}")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert out.startswith("greedy against greedy: ")
    assert "ended by checkmate" in out


# ---- tournament


def test_a_tournament_ends_in_a_cross_table(capsys: Capture) -> None:
    called = call_keisei(capsys, "tournament", "random", "greedy", "ab1", "--games", 4)
    assert called.code == 0
    rows = [line for line in called.out.splitlines() if "│" in line]
    assert [row.split("│")[2].strip() for row in rows] == ["ab1", "greedy", "random"]
    assert rows[0].count("4/0/0") == 2
    assert "8/8" in rows[0]
    assert rows[2].split("│")[4].strip() == "0"


def test_a_gauntlet_leaves_out_the_others(capsys: Capture) -> None:
    called = call_keisei(capsys, "tournament", "ab1", "greedy", "random", "--games", 2, "--gauntlet")
    rows = [line for line in called.out.splitlines() if "│" in line]
    assert ["4/4" in rows[0], *("0/2" in row for row in rows[1:])] == [True, True, True]


def test_a_tournament_needs_two_different_players(capsys: Capture) -> None:
    call_keisei(capsys, "tournament", "ab1").assert_refused(2, "at least two players")
    call_keisei(capsys, "tournament", "ab1", "ab1").assert_refused(2, "different players")


# ---- ladder


def test_a_ladder_rates_a_checkpoint_in_registry_and_journal(capsys: Capture, tmp_path: Path) -> None:
    run = make_run(tmp_path, "climber", updates=3)
    command = ("ladder", "climber", "--anchors", "random,greedy", "--games", 30, "--games-per-step", 6)
    called = call_keisei(capsys, *command, "--runs", tmp_path, "--max-plies", 120, "--device", "cpu")
    assert called.code == 0, called.err
    assert "policy:climber@3#" in called.out
    assert "random" in called.out
    content = json.loads((tmp_path / "registry.json").read_text())
    assert sum(sum(entry["pairs"]) for entry in content["results"]) == 15
    with JournalReader(run.journal_path) as journal:
        (entry,) = journal.ratings()
    assert entry.update == 3
    assert entry.content.player.startswith("policy:climber@3#")
    (kept,) = (rating for rating in content["ratings"] if rating["name"] == entry.content.player)
    assert kept["games"] == entry.content.games > 0


def test_a_second_ladder_goes_on_with_the_results_of_the_first(capsys: Capture, tmp_path: Path) -> None:
    registry = tmp_path / "shared.json"
    command = ("ladder", "greedy", "--anchors", "random,mate1", "--games-per-step", 4, "--registry", registry)
    for games in (8, 4):
        assert call_keisei(capsys, *command, "--games", games, "--max-plies", 200).code == 0
    content = json.loads(registry.read_text())
    assert sum(sum(entry["pairs"]) for entry in content["results"]) == 6
    call_keisei(capsys, *command, "--max-plies", 100).assert_refused(1, "cannot be compared", "--registry")


def test_a_ladder_stops_when_intervals_are_narrow(capsys: Capture, tmp_path: Path) -> None:
    registry = tmp_path / "registry.json"
    command = ("ladder", "random", "--anchors", "random", "--registry", registry)
    call_keisei(capsys, *command).assert_refused(2, "different players")
    command = ("ladder", "mate1", "--anchors", "random", "--registry", registry, "--max-plies", 200)
    assert call_keisei(capsys, *command, "--games", 40, "--width", 100_000, "--games-per-step", 4).code == 0
    content = json.loads(registry.read_text())
    assert sum(sum(entry["pairs"]) for entry in content["results"]) < 20


@pytest.mark.skipif(
    find_program("fairy-stockfish") is None, reason="needs Fairy-Stockfish: apt-get install fairy-stockfish"
)
def test_a_rung_of_fairy_stockfish_has_its_place(capsys: Capture, tmp_path: Path) -> None:
    registry = tmp_path / "registry.json"
    command = ("ladder", "greedy", "--anchors", "random,mate1,fairy1", "--registry", registry)
    called = call_keisei(capsys, *command, "--games", 18, "--games-per-step", 6, "--max-plies", 150)
    assert called.code == 0, called.err
    rows = [line for line in called.out.splitlines() if "│" in line]
    assert {row.split("│")[1].strip() for row in rows} == {"random", "mate1", "greedy", "fairy1"}
    met = [(entry["first"], entry["second"]) for entry in json.loads(registry.read_text())["results"]]
    assert ("fairy1", "mate1") in met


# ---- tsume


def test_the_exam_is_marked_by_length(capsys: Capture) -> None:
    called = call_keisei(capsys, "tsume", "mate1", "--problems", 20)
    assert called.code == 0
    lines = called.out.splitlines()
    assert lines[0].startswith("mate in 1: 20 of 20, 100.0% (95 %: ")
    assert [line.split(":")[0] for line in lines] == ["mate in 1", "mate in 3", "mate in 5"]
