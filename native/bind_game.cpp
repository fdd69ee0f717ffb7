// One game, and moves with their indices.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "exchange.hpp"
#include "game.hpp"
#include "legality.hpp"
#include "mate.hpp"
#include "perft.hpp"
#include "search.hpp"
#include "thread_pool.hpp"

namespace keisei {
namespace {

Game make_game(std::string_view sfen, int max_plies, int impasse) {
    Game game(Rules{static_cast<std::uint16_t>(max_plies), static_cast<ImpasseRule>(impasse)});
    game.reset(parse_sfen(sfen));
    game.settle();
    return game;
}

Game game_from_record(nb::bytes record, int impasse) {
    if (record.size() != RECORD_BYTES) {
        throw BadRecord("a packed position has 96 bytes, not " + std::to_string(record.size()));
    }
    RecordContext context;
    try {
        const Position position = unpack_record(static_cast<const std::uint8_t*>(record.data()), context);
        Game game(Rules{std::max<std::uint16_t>(1, context.max_plies), static_cast<ImpasseRule>(impasse)});
        game.reset(position);
        game.settle();
        return game;
    } catch (const SfenError& error) {
        throw BadRecord(error.what());
    }
}

void require_legal(const Game& game, int move) {
    const bool fits = move >= 0 && move <= 0xffff;
    const Move code = fits ? static_cast<Move>(move) : NO_MOVE;
    if (fits && is_legal(game.position(), code)) return;
    throw IllegalMove("illegal move " + move_in_words(move) + " in position '" + format_sfen(game.position()) +
                      "': " + illegality(game.position(), code));
}

std::vector<Move> legal_moves(const Game& game) {
    MoveList list;
    generate_moves(game.position(), list);
    return {list.begin(), list.end()};
}

std::vector<std::uint16_t> legal_actions(const Game& game, int actions) {
    std::uint16_t buffer[ACTION_LIST_SIZE];
    int count = 0;
    generate_actions(game.position(), action_space(actions), buffer, count);
    return {buffer, buffer + count};
}

std::uint64_t run_perft(const Game& game, int depth) {
    Position position = game.position();
    return perft(position, depth);
}

std::vector<std::pair<Move, std::uint64_t>> perft_divide(const Game& game, int depth) {
    Position position = game.position();
    MoveList list;
    generate_moves(position, list);
    std::vector<std::pair<Move, std::uint64_t>> parts;
    Undo undo;
    for (const Move move : list) {
        position.do_move(move, undo);
        parts.emplace_back(move, perft(position, depth - 1));
        position.undo_move(move, undo);
    }
    return parts;
}

nb::bytes record_of(const Game& game) {
    std::uint8_t record[RECORD_BYTES];
    pack_record(game.position(), game.record_context(), record);
    return nb::bytes(record, RECORD_BYTES);
}

void observe(const Game& game, PlanesOut<float> out) {
    require_rows(1, out.shape(0), "out");
    std::uint8_t record[RECORD_BYTES];
    pack_record(game.position(), game.record_context(), record);
    unpack_planes(record, out.data());
}

// Searches several games in threads, each by itself.
std::vector<std::tuple<Move, int, std::uint64_t>> search_games(const std::vector<const Game*>& games, int depth,
                                                               std::uint64_t seed, int num_threads) {
    std::vector<std::tuple<Move, int, std::uint64_t>> found(games.size());
    ThreadPool pool(std::max(1, num_threads));
    pool.for_chunks(static_cast<int>(games.size()), 1, [&](int begin, int end) {
        for (int i = begin; i < end; ++i) {
            const Game& game = *games[static_cast<std::size_t>(i)];
            const SearchResult result = search(game.position(), {depth, seed}, game.earlier_keys());
            found[static_cast<std::size_t>(i)] = {result.best, result.score, result.nodes};
        }
    });
    return found;
}

int parse_move(std::string_view usi) { return parse_usi(usi); }

std::string format_move(int move) {
    if (move < 0 || move > 0xffff || !is_well_formed(static_cast<Move>(move))) {
        throw IllegalMove("no move has the code " + std::to_string(move));
    }
    return format_usi(static_cast<Move>(move));
}

int action_of_move(int actions, int move, int mover) {
    format_move(move);  // rejects codes that are no moves
    const std::uint16_t action =
        action_of(action_space(actions), static_cast<Move>(move), static_cast<Color>(mover & 1));
    if (action == NO_ACTION)
        throw BadAction("move " + move_in_words(move) + " has no index among " + std::to_string(actions) + " actions");
    return action;
}

std::vector<std::uint16_t> mirror_table(int actions) {
    const ActionSpace space = action_space(actions);
    std::vector<std::uint16_t> table;
    for (int action = 0; action < actions; ++action) table.push_back(mirrored_action(space, action));
    return table;
}

void bind_actions(nb::module_& m) {
    m.def("parse_move", &parse_move, "usi"_a, "The code of a USI move, 0 when the text is none.");
    m.def("format_move", &format_move, "move"_a);
    m.def("action_of_move", &action_of_move, "actions"_a, "move"_a, "mover"_a);
    m.def("mirror_table", &mirror_table, "actions"_a);
}

}  // namespace

void play_checked(Game& game, int move) {
    if (game.outcome().over()) {
        throw IllegalMove("illegal move " + move_in_words(move) + " in position '" + format_sfen(game.position()) +
                          "': the game is over; take a move back or start a new game");
    }
    require_legal(game, move);
    game.play(static_cast<Move>(move));
    game.settle();
}

Move checked_move_of(const Game& game, int actions, int action) {
    const Move move = move_of(action_space(actions), action, game.position());
    if (move == NO_MOVE || !is_legal(game.position(), move)) {
        const std::string named =
            move == NO_MOVE ? "names no move" : "names " + quoted(format_usi(move)) + ", which is illegal";
        throw BadAction("action " + std::to_string(action) + " of " + std::to_string(actions) + " " + named +
                        " in position '" + format_sfen(game.position()) + "'");
    }
    return move;
}

void bind_game(nb::module_& m) {
    nb::class_<Game>(m, "Game")
        .def(nb::init<const Game&>())
        .def_prop_ro("sfen", [](const Game& g) { return format_sfen(g.position()); })
        .def_prop_ro("start_sfen", [](const Game& g) { return format_sfen(g.start()); })
        .def_prop_ro("turn", [](const Game& g) { return static_cast<int>(g.position().turn); })
        .def_prop_ro("ply", [](const Game& g) { return g.position().ply; })
        .def_prop_ro("key", [](const Game& g) { return g.position().key; })
        .def_prop_ro("max_plies", [](const Game& g) { return g.rules().max_plies; })
        .def_prop_ro("impasse", [](const Game& g) { return static_cast<int>(g.rules().impasse); })
        .def_prop_ro("in_check", &Game::mover_in_check)
        .def_prop_ro("occurrences", &Game::occurrences)
        .def_prop_ro("outcome",
                     [](const Game& g) {
                         return std::pair(static_cast<int>(g.outcome().reason), static_cast<int>(g.outcome().winner));
                     })
        .def_prop_ro("moves",
                     [](const Game& g) {
                         std::vector<Move> moves;
                         for (int i = 1; i <= g.plies_played(); ++i) moves.push_back(g.move_at(i));
                         return moves;
                     })
        .def_prop_ro("board", [](const Game& g) { return nb::bytes(g.position().view[BLACK], SQUARES); })
        .def("hand",
             [](const Game& g, int color) {
                 std::vector<int> counts;
                 for (int type = 0; type < HAND_TYPES; ++type)
                     counts.push_back(g.position().hand[color & 1].count(type));
                 return counts;
             })
        .def("play", &play_checked, "move"_a)
        .def("undo",
             [](Game& g) {
                 if (g.plies_played() == 0) throw IllegalMove("no move to take back: this is the start of the game");
                 const Move move = g.move_at(g.plies_played());
                 g.undo();
                 return move;
             })
        .def("finish", [](Game& g, int reason,
                          int winner) { g.finish({static_cast<Reason>(reason), static_cast<std::int8_t>(winner)}); })
        .def("legal_moves", &legal_moves)
        .def("legal_actions", &legal_actions, "actions"_a)
        .def("move_of_action", &checked_move_of, "actions"_a, "action"_a)
        .def("declaration",
             [](const Game& g, int impasse) {
                 const Outcome outcome = declaration(g.position(), static_cast<ImpasseRule>(impasse));
                 return std::pair(static_cast<int>(outcome.reason), static_cast<int>(outcome.winner));
             })
        .def("impasse_points",
             [](const Game& g, int color) { return impasse_points(g.position(), static_cast<Color>(color & 1)); })
        .def("perft", &run_perft, "depth"_a, nb::call_guard<nb::gil_scoped_release>())
        .def("perft_divide", &perft_divide, "depth"_a, nb::call_guard<nb::gil_scoped_release>())
        .def("record", &record_of)
        .def("observe", &observe, "out"_a.noconvert())
        .def("same_position", [](const Game& a, const Game& b) { return a.position().same_as(b.position()); })
        .def("mate_in_one", [](const Game& g) { return mate_in_one(g.position()); })
        .def(
            "find_mate",
            [](const Game& g, int max_plies, std::uint64_t max_nodes) {
                const MateResult result = find_mate(g.position(), max_plies, max_nodes);
                return std::tuple(static_cast<int>(result.verdict), result.line, result.nodes);
            },
            "max_plies"_a, "max_nodes"_a, nb::call_guard<nb::gil_scoped_release>())
        .def("material", [](const Game& g, int color) { return material(g.position(), static_cast<Color>(color & 1)); })
        .def("moves_without_mating_reply", [](const Game& g) { return moves_without_mating_reply(g.position()); })
        .def("greediest_moves", [](const Game& g) { return greediest_moves(g.position()); })
        .def("static_exchange", [](const Game& g, int move) {
            require_legal(g, move);
            return static_exchange(g.position(), static_cast<Move>(move));
        });
    m.def("make_game", &make_game, "sfen"_a, "max_plies"_a, "impasse"_a);
    m.def("search_games", &search_games, "games"_a, "depth"_a, "seed"_a, "num_threads"_a,
          nb::call_guard<nb::gil_scoped_release>());
    m.def("game_from_record", &game_from_record, "record"_a, "impasse"_a);
    bind_actions(m);
}

}  // namespace keisei
