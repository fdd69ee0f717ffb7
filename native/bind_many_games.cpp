// Many games in one call, for matches: what would be several calls a game and ply from Python.
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "game.hpp"

namespace keisei {
namespace {

void pack_games(const std::vector<const Game*>& games, RecordsOut out) {
    require_rows(games.size(), out.shape(0), "out");
    for (std::size_t i = 0; i < games.size(); ++i) {
        pack_record(games[i]->position(), games[i]->record_context(), out.data() + i * RECORD_BYTES);
    }
}

std::vector<Move> moves_of_actions(const std::vector<const Game*>& games, int actions,
                                   Vector<const std::int32_t> indices) {
    require_rows(games.size(), indices.shape(0), "indices");
    std::vector<Move> moves(games.size());
    for (std::size_t i = 0; i < games.size(); ++i) {
        moves[i] = checked_move_of(*games[i], actions, indices.data()[i]);
    }
    return moves;
}

// Returns whether each game is over.
std::vector<bool> play_moves(const std::vector<Game*>& games, const std::vector<int>& moves, bool declare) {
    require_rows(games.size(), moves.size(), "moves");
    std::vector<bool> over(games.size());
    for (std::size_t i = 0; i < games.size(); ++i) {
        Game& game = *games[i];
        play_checked(game, moves[i]);
        if (declare && !game.outcome().over()) {
            const Outcome declared = declaration(game.position(), game.rules().impasse);
            if (declared.winner == game.position().turn) game.finish(declared);
        }
        over[i] = game.outcome().over();
    }
    return over;
}

}  // namespace

void bind_many_games(nb::module_& m) {
    m.def("pack_games", &pack_games, "games"_a, "out"_a.noconvert());
    m.def("moves_of_actions", &moves_of_actions, "games"_a, "actions"_a, "indices"_a.noconvert());
    m.def("play_moves", &play_moves, "games"_a, "moves"_a, "declare"_a);
}

}  // namespace keisei
