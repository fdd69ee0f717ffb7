// Alpha-beta search with a plain evaluation: fixed opponents for measuring strength, not a strong engine.
#pragma once

#include <cstdint>
#include <vector>

#include "position.hpp"

namespace keisei {

// Scores are in hundredths of a pawn for the side to move; a mate in n plies scores MATE_SCORE - n.
constexpr int MATE_SCORE = 30000;

struct SearchLimits {
    int depth = 1;
    // Breaks ties between moves of nearly equal worth: another seed plays other games, the same seed the same.
    std::uint64_t seed = 0;
};

struct SearchResult {
    Move best = NO_MOVE;  // NO_MOVE when there is no legal move
    int score = 0;
    std::uint64_t nodes = 0;
};

// Material and simple placement, seen by the side to move.
int evaluate(const Position& position);

// Searches to a fixed depth, with quiescence behind it. `earlier` are the keys of the game so far: a position that
// occurs again counts as a draw.
SearchResult search(const Position& position, const SearchLimits& limits, const std::vector<std::uint64_t>& earlier);

}  // namespace keisei
