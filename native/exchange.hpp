// Material and static exchange evaluation, in hundredths of a pawn.
#pragma once

#include <vector>

#include "record.hpp"

namespace keisei {

// Customary playing values, rounded; a held piece counts as its unpromoted self.
constexpr int PIECE_VALUE[PIECE_TYPES] = {100, 300, 350, 500, 550, 800, 1000, 0, 550, 550, 550, 550, 1100, 1300};

// The colour's board and hand less the other side's.
int material(const Position& position, Color color);

// The mover's board and hand less the opponent's, read off a packed position.
int record_material(const std::uint8_t* record);

// What the side to move gains on the destination square if both sides go on capturing there, each with its least
// valuable piece first and each free to stop. Pins are ignored. The move must be pseudo-legal.
int static_exchange(const Position& position, Move move);

// The legal moves with the best immediate material: captures and promotions at face value, no look at the reply.
std::vector<Move> greediest_moves(const Position& position);

}  // namespace keisei
