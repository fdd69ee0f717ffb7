// Policy indices: the numbering of moves that networks use, in the mover's view.
//
// FULL, 13,527 actions: board move from * 160 + (to - [to > from]) * 2 + promote, drop 12,960 + to * 7 + hand type.
// COMPACT, 2,187 actions: plane * 81 + to; planes 0-9 directions, 10-19 the same with promotion, 20-26 drops.
#pragma once

#include <cstdint>

#include "position.hpp"

namespace keisei {

enum class ActionSpace : std::uint16_t { COMPACT = 2187, FULL = 13527 };

constexpr int action_count(ActionSpace space) { return static_cast<int>(space); }
constexpr std::uint16_t NO_ACTION = 65535;

// Directions of COMPACT planes as the mover sees them; left is column 0.
enum Direction { UP, UP_LEFT, UP_RIGHT, LEFT, RIGHT, DOWN, DOWN_LEFT, DOWN_RIGHT, JUMP_LEFT, JUMP_RIGHT, DIRECTIONS };
constexpr int PROMOTION_PLANES = DIRECTIONS;
constexpr int DROP_PLANES = 2 * DIRECTIONS;

// The index of a move by the given side. The move need not be legal, but a board move must lie on one of the
// ten directions; otherwise NO_ACTION.
std::uint16_t action_of(ActionSpace space, Move move, Color mover);

// The move an index names in a position, or NO_MOVE when it names none. Legality is not checked.
Move move_of(ActionSpace space, int action, const Position& position);

// The index of the left-right mirrored move.
std::uint16_t mirrored_action(ActionSpace space, int action);

// Room that generate_actions needs.
constexpr int ACTION_LIST_SIZE = 664;

// Writes the indices of all legal moves; returns the pieces that give check.
Bitboard generate_actions(const Position& position, ActionSpace space, std::uint16_t* out, int& count);

}  // namespace keisei
