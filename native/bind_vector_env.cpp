// The vector environment.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "vector_env.hpp"

namespace keisei {
namespace {

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

}  // namespace

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

}  // namespace keisei
