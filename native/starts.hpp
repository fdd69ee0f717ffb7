// Where games begin: a weighted mixture of starting positions.
#pragma once

#include <vector>

#include "game.hpp"
#include "random.hpp"

namespace keisei {

struct StartMixture {
    double standard = 1;       // the standard array
    double handicap = 0;       // one of `handicaps`
    double listed = 0;         // one of `positions`
    double random_prefix = 0;  // the standard array after 1..prefix_plies uniformly random plies
    double earlier = 0;        // a position of an earlier game on the same board, in the first half of the ply cap
    int prefix_plies = 0;
    std::vector<Position> handicaps;
    std::vector<Position> positions;

    double total() const { return standard + handicap + listed + random_prefix + earlier; }
};

// Begins a game. `archive` holds positions of earlier games; while it is empty its share goes to the standard array.
// The new game is settled and open: no start is a finished game.
void begin_game(Game& game, const StartMixture& mixture, const std::vector<Position>& archive, Random& random);

}  // namespace keisei
