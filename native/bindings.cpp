// The seam to Python: converts arguments and errors, nothing else. The rules know nothing of Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "exchange.hpp"
#include "gumbel_forest.hpp"
#include "legality.hpp"
#include "mate.hpp"
#include "movegen.hpp"
#include "observation.hpp"
#include "perft.hpp"
#include "search.hpp"
#include "sfen.hpp"
#include "vector_env.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace keisei;

namespace {

template <class T, class Shape>
using Array = nb::ndarray<T, Shape, nb::c_contig, nb::device::cpu>;

template <class T>
using Vector = Array<T, nb::ndim<1>>;
using Records = Array<const std::uint8_t, nb::shape<-1, RECORD_BYTES>>;
using RecordsOut = Array<std::uint8_t, nb::shape<-1, RECORD_BYTES>>;
using LegalOut = Array<std::uint16_t, nb::shape<-1, MAX_LEGAL_MOVES>>;
template <class T>
using PlanesOut = Array<T, nb::shape<-1, PLANES, BOARD_SIDE, BOARD_SIDE>>;

class IllegalMove : public std::runtime_error {
    using std::runtime_error::runtime_error;
};
class BadAction : public std::runtime_error {
    using std::runtime_error::runtime_error;
};
class BadRecord : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

void translate_errors(const std::exception_ptr& pointer, void*) {
    const auto raise = [](const char* name, const std::exception& error) {
        const nb::object type = nb::module_::import_("keisei.errors").attr(name);
        PyErr_SetString(type.ptr(), error.what());
    };
    try {
        std::rethrow_exception(pointer);
    } catch (const SfenError& error) {
        raise("SfenError", error);
    } catch (const IllegalMove& error) {
        raise("IllegalMoveError", error);
    } catch (const BadAction& error) {
        raise("ActionError", error);
    } catch (const BadRecord& error) {
        raise("RecordError", error);
    }
}

ActionSpace action_space(int actions) {
    if (actions != action_count(ActionSpace::COMPACT) && actions != action_count(ActionSpace::FULL)) {
        throw std::invalid_argument("actions must be 2187 or 13527");
    }
    return static_cast<ActionSpace>(actions);
}

void require_rows(std::size_t expected, std::size_t found, const char* name) {
    if (expected != found) {
        throw std::invalid_argument(std::string(name) + " has " + std::to_string(found) + " rows instead of " +
                                    std::to_string(expected));
    }
}

// ---------------------------------------------------------------- one game

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

std::string move_in_words(int move) {
    return is_well_formed(static_cast<Move>(move)) ? quoted(format_usi(static_cast<Move>(move))) : std::to_string(move);
}

void require_legal(const Game& game, int move) {
    const bool fits = move >= 0 && move <= 0xffff;
    const Move code = fits ? static_cast<Move>(move) : NO_MOVE;
    if (fits && is_legal(game.position(), code)) return;
    throw IllegalMove("illegal move " + move_in_words(move) + " in position '" + format_sfen(game.position()) +
                      "': " + illegality(game.position(), code));
}

void play_checked(Game& game, int move) {
    const std::string where =
        "illegal move " + move_in_words(move) + " in position '" + format_sfen(game.position()) + "': ";
    if (game.outcome().over()) throw IllegalMove(where + "the game is over; take a move back or start a new game");
    require_legal(game, move);
    game.play(static_cast<Move>(move));
    game.settle();
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
}

// ---------------------------------------------------------------- moves and actions

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

// ---------------------------------------------------------------- batches of records

constexpr int RECORD_CHUNK = 64;

template <class Body>
void for_each_row(std::size_t rows, int num_threads, Body body) {
    ThreadPool pool(std::max(1, num_threads));
    pool.for_chunks(static_cast<int>(rows), RECORD_CHUNK, [&](int begin, int end) {
        for (int i = begin; i < end; ++i) body(static_cast<std::size_t>(i));
    });
}

template <class T>
void records_to_planes(Records records, PlanesOut<T> out, int num_threads) {
    require_rows(records.shape(0), out.shape(0), "out");
    const std::uint8_t* in = records.data();
    T* planes = out.data();
    for_each_row(records.shape(0), num_threads,
                 [=](std::size_t i) { unpack_planes(in + i * RECORD_BYTES, planes + i * PLANES * SQUARES); });
}

void records_to_bits(Records records, Array<std::uint64_t, nb::shape<-1, PIECE_PLANES, 2>> bits,
                     Array<float, nb::shape<-1, SCALAR_PLANES>> scalars, int num_threads) {
    require_rows(records.shape(0), bits.shape(0), "bits");
    require_rows(records.shape(0), scalars.shape(0), "scalars");
    const std::uint8_t* in = records.data();
    std::uint64_t* out = bits.data();
    float* numbers = scalars.data();
    for_each_row(records.shape(0), num_threads, [=](std::size_t i) {
        unpack_bits(in + i * RECORD_BYTES, out + i * PIECE_PLANES * 2, numbers + i * SCALAR_PLANES);
    });
}

// Calls body(i, actions, count) with the legal actions of each record.
template <class Body>
void for_each_legal_list(Records records, int actions, int num_threads, Body body) {
    const ActionSpace space = action_space(actions);
    const std::uint8_t* in = records.data();
    std::atomic<bool> damaged{false};
    for_each_row(records.shape(0), num_threads, [&](std::size_t i) {
        Position position;
        std::uint16_t buffer[ACTION_LIST_SIZE];
        int count = 0;
        const bool readable = read_trusted_record(in + i * RECORD_BYTES, position);
        if (readable) generate_actions(position, space, buffer, count);
        // With the waiting king in check, which no game reaches, there can be a few moves more than ever elsewhere.
        if (!readable || count > MAX_LEGAL_MOVES) {
            damaged = true;
            count = 0;
        }
        body(i, buffer, count);
    });
    if (damaged) throw BadRecord("a packed position is damaged: no game reaches such a board");
}

void records_to_legal(Records records, int actions, LegalOut legal, Vector<std::uint16_t> counts, int num_threads) {
    require_rows(records.shape(0), legal.shape(0), "legal");
    require_rows(records.shape(0), counts.shape(0), "counts");
    std::uint16_t* out = legal.data();
    std::uint16_t* sizes = counts.data();
    for_each_legal_list(records, actions, num_threads, [=](std::size_t i, const std::uint16_t* list, int count) {
        std::copy_n(list, count, out + i * MAX_LEGAL_MOVES);
        sizes[i] = static_cast<std::uint16_t>(count);
    });
}

// A row of the mask is `width` bytes: one an action, or one for eight actions (lowest bit first).
void write_mask(const std::uint16_t* list, int count, bool bits, std::uint8_t* row, std::size_t width) {
    std::fill_n(row, width, std::uint8_t{0});
    for (int k = 0; k < count; ++k) {
        const std::uint16_t action = list[k];
        if (bits) {
            row[action / 8] = static_cast<std::uint8_t>(row[action / 8] | 1 << action % 8);
        } else {
            row[action] = 1;
        }
    }
}

bool mask_is_packed(int actions, std::size_t width) {
    const auto count = static_cast<std::size_t>(action_count(action_space(actions)));
    if (width != count && width != (count + 7) / 8) throw std::invalid_argument("mask rows have the wrong width");
    return width != count;
}

void records_to_mask(Records records, int actions, Array<std::uint8_t, nb::ndim<2>> mask, int num_threads) {
    require_rows(records.shape(0), mask.shape(0), "mask");
    const std::size_t width = mask.shape(1);
    const bool bits = mask_is_packed(actions, width);
    std::uint8_t* out = mask.data();
    for_each_legal_list(records, actions, num_threads, [=](std::size_t i, const std::uint16_t* list, int count) {
        write_mask(list, count, bits, out + i * width, width);
    });
}

void legal_to_mask(Array<const std::uint16_t, nb::shape<-1, MAX_LEGAL_MOVES>> legal, Vector<const std::uint16_t> counts,
                   int actions, Array<std::uint8_t, nb::ndim<2>> mask, int num_threads) {
    require_rows(legal.shape(0), mask.shape(0), "mask");
    require_rows(legal.shape(0), counts.shape(0), "counts");
    const std::size_t width = mask.shape(1);
    const bool bits = mask_is_packed(actions, width);
    const std::uint16_t* lists = legal.data();
    const std::uint16_t* sizes = counts.data();
    std::uint8_t* out = mask.data();
    std::atomic<bool> out_of_range{false};
    for_each_row(legal.shape(0), num_threads, [&](std::size_t i) {
        const std::uint16_t* list = lists + i * MAX_LEGAL_MOVES;
        const int count = std::min<int>(sizes[i], MAX_LEGAL_MOVES);
        if (std::any_of(list, list + count, [=](std::uint16_t action) { return action >= actions; })) {
            out_of_range = true;
            return;
        }
        write_mask(list, count, bits, out + i * width, width);
    });
    if (out_of_range) throw BadAction("a legal list holds an action outside 0.." + std::to_string(actions - 1));
}

void mirror_records(Records records, RecordsOut out) {
    require_rows(records.shape(0), out.shape(0), "out");
    for (std::size_t i = 0; i < records.shape(0); ++i) {
        mirror_record(records.data() + i * RECORD_BYTES, out.data() + i * RECORD_BYTES);
    }
}

void bind_batches(nb::module_& m) {
    const auto guard = nb::call_guard<nb::gil_scoped_release>();
    m.def("records_to_planes", &records_to_planes<std::uint8_t>, "records"_a.noconvert(), "out"_a.noconvert(),
          "num_threads"_a, guard);
    m.def("records_to_planes", &records_to_planes<float>, "records"_a.noconvert(), "out"_a.noconvert(), "num_threads"_a,
          guard);
    m.def("records_to_bits", &records_to_bits, "records"_a.noconvert(), "bits"_a.noconvert(), "scalars"_a.noconvert(),
          "num_threads"_a, guard);
    m.def("records_to_legal", &records_to_legal, "records"_a.noconvert(), "actions"_a, "legal"_a.noconvert(),
          "counts"_a.noconvert(), "num_threads"_a, guard);
    m.def("records_to_mask", &records_to_mask, "records"_a.noconvert(), "actions"_a, "mask"_a.noconvert(),
          "num_threads"_a, guard);
    m.def("legal_to_mask", &legal_to_mask, "legal"_a.noconvert(), "counts"_a.noconvert(), "actions"_a,
          "mask"_a.noconvert(), "num_threads"_a, guard);
    m.def("mirror_records", &mirror_records, "records"_a.noconvert(), "out"_a.noconvert(), guard);
}

// ---------------------------------------------------------------- the vector environment

// Keeps the caller's arrays alive as long as the environment writes to them.
struct BoundEnv {
    std::vector<nb::object> arrays;
    VectorEnv env;
};

template <class T, class Shape>
T* take_array(const nb::dict& arrays, const char* name, int rows, std::vector<nb::object>& keep) {
    const nb::object object = arrays[name];
    const auto array = nb::cast<Array<T, Shape>>(object);
    require_rows(static_cast<std::size_t>(rows), array.shape(0), name);
    keep.push_back(object);
    return array.data();
}

void make_env(BoundEnv* self, const nb::dict& arrays, int num_games, std::uint64_t seed, int num_threads, int actions,
              int max_plies, int impasse, bool declare, bool mate, bool mirror, double standard, double handicap,
              double listed, double random_prefix, double earlier, int prefix_plies,
              const std::vector<std::string>& handicaps, const std::vector<std::string>& sfens) {
    VectorEnvConfig config;
    config.num_games = num_games;
    config.seed = seed;
    config.num_threads = num_threads;
    config.actions = action_space(actions);
    config.rules = {static_cast<std::uint16_t>(max_plies), static_cast<ImpasseRule>(impasse)};
    config.declare = declare;
    config.mate_in_one = mate;
    config.mirror = mirror;
    config.starts = {standard, handicap, listed, random_prefix, earlier, prefix_plies, {}, {}};
    for (const std::string& sfen : handicaps) config.starts.handicaps.push_back(parse_sfen(sfen));
    for (const std::string& sfen : sfens) config.starts.positions.push_back(parse_sfen(sfen));
    std::vector<nb::object> keep;
    using Row = nb::ndim<1>;
    using RecordRow = nb::shape<-1, RECORD_BYTES>;
    const VectorEnvArrays pointers{
        take_array<std::uint8_t, RecordRow>(arrays, "records", num_games, keep),
        take_array<std::uint16_t, nb::shape<-1, MAX_LEGAL_MOVES>>(arrays, "legal_actions", num_games, keep),
        take_array<std::uint16_t, Row>(arrays, "legal_counts", num_games, keep),
        take_array<std::uint8_t, Row>(arrays, "repetitions", num_games, keep),
        take_array<std::uint16_t, Row>(arrays, "mate_in_one", num_games, keep),
        take_array<bool, Row>(arrays, "mirrored", num_games, keep),
        take_array<float, Row>(arrays, "rewards", num_games, keep),
        take_array<bool, Row>(arrays, "terminated", num_games, keep),
        take_array<bool, Row>(arrays, "truncated", num_games, keep),
        take_array<std::uint8_t, Row>(arrays, "reasons", num_games, keep),
        take_array<std::uint8_t, RecordRow>(arrays, "final_records", num_games, keep)};
    new (self) BoundEnv{std::move(keep), VectorEnv(config, pointers)};
}

void step_checked(BoundEnv& bound, Vector<const std::int32_t> actions) {
    VectorEnv& env = bound.env;
    require_rows(static_cast<std::size_t>(env.config().num_games), actions.shape(0), "actions");
    const std::int32_t* chosen = actions.data();
    const int bad = env.first_illegal(chosen);
    if (bad >= 0) {
        throw BadAction("action " + std::to_string(chosen[bad]) + " of game " + std::to_string(bad) +
                        " is not legal in position '" + format_sfen(env.game(bad).position()) +
                        "'; choose from legal_actions[" + std::to_string(bad) + ", :" + "legal_counts[" +
                        std::to_string(bad) + "]] (no game was stepped)");
    }
    env.step(chosen);
}

void bind_vector_env(nb::module_& m) {
    const auto guard = nb::call_guard<nb::gil_scoped_release>();
    nb::class_<BoundEnv>(m, "VectorEnv")
        .def("__init__", &make_env, "arrays"_a, "num_games"_a, "seed"_a, "num_threads"_a, "actions"_a, "max_plies"_a,
             "impasse"_a, "declare"_a, "mate_in_one"_a, "mirror"_a, "standard"_a, "handicap"_a, "listed"_a,
             "random_prefix"_a, "earlier"_a, "prefix_plies"_a, "handicaps"_a, "sfens"_a)
        .def(
            "reset", [](BoundEnv& b) { b.env.reset(); }, guard)
        .def("step", &step_checked, "actions"_a.noconvert(), guard)
        .def(
            "random_actions",
            [](BoundEnv& b, Vector<std::int32_t> out) {
                require_rows(static_cast<std::size_t>(b.env.config().num_games), out.shape(0), "out");
                b.env.random_actions(out.data());
            },
            "out"_a.noconvert(), guard)
        .def(
            "play_random",
            [](BoundEnv& b, int plies) {
                const RandomPlayStats stats = b.env.play_random(plies);
                return std::tuple(stats.plies, stats.games,
                                  std::vector<std::uint64_t>(stats.by_reason.begin(), stats.by_reason.end()),
                                  std::vector<std::uint64_t>(stats.wins.begin(), stats.wins.end()));
            },
            "plies"_a, guard)
        .def("game",
             [](const BoundEnv& b, int i) {
                 if (i < 0 || i >= b.env.config().num_games) throw nb::index_error("no such game");
                 return Game(b.env.game(i));
             })
        .def("finished_game",
             [](const BoundEnv& b, int i) {
                 if (i < 0 || i >= b.env.config().num_games) throw nb::index_error("no such game");
                 if (!b.env.finished_game(i).outcome().over()) throw nb::index_error("no game has ended there yet");
                 return Game(b.env.finished_game(i));
             })
        .def("save_state",
             [](const BoundEnv& b) {
                 const std::string state = b.env.save_state();
                 return nb::bytes(state.data(), state.size());
             })
        .def("load_state", [](BoundEnv& b, nb::bytes state) {
            b.env.load_state({static_cast<const char*>(state.data()), state.size()});
        });
}

// ---------------------------------------------------------------- Gumbel search

void make_forest(GumbelForest* self, const std::vector<const Game*>& games, int actions, int max_considered,
                 int leaves_per_move, double value_scale, bool noise, std::uint64_t seed, bool declare,
                 const std::vector<int>& only, int num_threads) {
    std::vector<Move> moves;
    for (const int move : only) {
        for (const Game* game : games) {
            if (is_legal(game->position(), static_cast<Move>(move))) continue;
            throw IllegalMove("illegal move " + move_in_words(move) + " in position '" + format_sfen(game->position()) +
                              "': " + illegality(game->position(), static_cast<Move>(move)));
        }
        moves.push_back(static_cast<Move>(move));
    }
    const GumbelSettings settings{
        action_space(actions), max_considered, leaves_per_move, value_scale, noise, seed, declare};
    new (self) GumbelForest(games, settings, moves, num_threads);
}

const GumbelTree& tree_of(const GumbelForest& forest, int i) {
    if (i < 0 || i >= forest.size()) throw nb::index_error("no such tree");
    return forest.tree(i);
}

int select_leaves(GumbelForest& forest, int leaves_per_tree, RecordsOut records) {
    require_rows(static_cast<std::size_t>(forest.size() * leaves_per_tree), records.shape(0), "records");
    if (forest.waiting() > 0) throw std::invalid_argument("the positions of the last selection wait for answers");
    return forest.select(leaves_per_tree, records.data());
}

void expand_leaves(GumbelForest& forest, Array<const float, nb::ndim<2>> logits, Vector<const float> values) {
    const auto waiting = static_cast<std::size_t>(forest.waiting());
    require_rows(waiting, logits.shape(0), "logits");
    require_rows(waiting, values.shape(0), "values");
    if (logits.shape(1) != static_cast<std::size_t>(action_count(forest.settings().actions))) {
        throw std::invalid_argument("logits do not have one column an action");
    }
    forest.expand(logits.data(), values.data());
}

std::vector<std::tuple<Move, int, double, double, int, int>> root_moves(const GumbelForest& forest, int i) {
    std::vector<std::tuple<Move, int, double, double, int, int>> rows;
    for (const RootMove& move : tree_of(forest, i).root_moves()) {
        rows.emplace_back(move.move, move.visits, move.value, move.prior, static_cast<int>(move.verdict), move.plies);
    }
    return rows;
}

void bind_gumbel(nb::module_& m) {
    const auto guard = nb::call_guard<nb::gil_scoped_release>();
    nb::class_<GumbelForest>(m, "GumbelForest")
        .def("__init__", &make_forest, "games"_a, "actions"_a, "max_considered"_a, "leaves_per_move"_a, "value_scale"_a,
             "noise"_a, "seed"_a, "declare"_a, "only"_a, "num_threads"_a)
        .def("__len__", &GumbelForest::size)
        .def("add_simulations", &GumbelForest::add_simulations, "simulations"_a, guard)
        .def("select", &select_leaves, "leaves_per_tree"_a, "records"_a, guard)
        .def("expand", &expand_leaves, "logits"_a, "values"_a, guard)
        .def(
            "finished", [](const GumbelForest& f, int i) { return tree_of(f, i).finished(); }, "tree"_a)
        .def(
            "visits", [](const GumbelForest& f, int i) { return tree_of(f, i).visits(); }, "tree"_a)
        .def("root_moves", &root_moves, "tree"_a,
             "(move, visits, value, prior, verdict, plies to the end) of each root move, best first.")
        .def(
            "line", [](const GumbelForest& f, int i, int move) { return tree_of(f, i).line(static_cast<Move>(move)); },
            "tree"_a, "move"_a)
        .def_prop_ro("bytes", &GumbelForest::bytes);
}

}  // namespace

NB_MODULE(_native, m) {
    nb::register_exception_translator(translate_errors);
    m.attr("RECORD_BYTES") = RECORD_BYTES;
    m.attr("MAX_LEGAL_MOVES") = MAX_LEGAL_MOVES;
    m.attr("MAX_PLY") = MAX_PLY;
    m.attr("NO_ACTION") = NO_ACTION;
    m.attr("MATE_SCORE") = MATE_SCORE;
    m.attr("PLANES") = PLANES;
    m.attr("STANDARD_SFEN") = std::string(STANDARD_SFEN);
    m.attr("PLANE_SCALE") = std::vector<float>(PLANE_SCALE, PLANE_SCALE + PLANES);
    m.attr("PIECE_VALUE") = std::vector<int>(PIECE_VALUE, PIECE_VALUE + PIECE_TYPES);
    bind_game(m);
    bind_actions(m);
    bind_batches(m);
    bind_vector_env(m);
    bind_gumbel(m);
}
