// Legal move generation. One generator, several sinks: moves, action indices, or only their number.
#pragma once

#include "position.hpp"

namespace keisei {

struct MoveList {
    int size = 0;
    Move moves[MAX_LEGAL_MOVES + 63];  // vectorised writes may run past the end

    const Move* begin() const { return moves; }
    const Move* end() const { return moves + size; }
};

void generate_moves(const Position& position, MoveList& list);
int count_moves(const Position& position);
bool has_legal_move(const Position& position);

// Would a pawn dropped in front of the enemy king by the side to move be mate?
bool is_drop_pawn_mate(const Position& position, int square);

}  // namespace keisei
