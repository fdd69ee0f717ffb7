// Gumbel search.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "gumbel_forest.hpp"
#include "legality.hpp"

namespace keisei {
namespace {

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

}  // namespace

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

}  // namespace keisei
