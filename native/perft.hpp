// Perft: the number of legal move sequences of a given length, the signature of a move generator.
#pragma once

#include <cstdint>

#include "position.hpp"

namespace keisei {

// The last ply is counted, not made, as engines commonly do.
std::uint64_t perft(Position& position, int depth);

}  // namespace keisei
