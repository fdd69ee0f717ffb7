// Forced mates: in one, and by search over checks and evasions.
#pragma once

#include <cstdint>
#include <vector>

#include "movegen.hpp"

namespace keisei {

// The legal moves that give check, in generation order.
void generate_checks(const Position& position, MoveList& list);

// A move that mates at once, or NO_MOVE. The first in generation order.
Move mate_in_one(const Position& position);

// The legal moves after which the opponent has no mate in one; all legal moves when there is no such move.
std::vector<Move> moves_without_mating_reply(const Position& position);

enum class MateVerdict : std::uint8_t { MATE, NO_MATE, UNKNOWN };

struct MateResult {
    MateVerdict verdict = MateVerdict::NO_MATE;
    std::vector<Move> line;  // the shortest mate, with the defence that holds out longest
    std::uint64_t nodes = 0;
};

// Looks for a mate of at most max_plies (odd numbers count) in which every attacking move gives check, shortest
// first. UNKNOWN when max_nodes positions did not settle it.
MateResult find_mate(const Position& position, int max_plies, std::uint64_t max_nodes);

}  // namespace keisei
