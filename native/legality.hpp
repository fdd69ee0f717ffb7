// Why a move is illegal, in words.
#pragma once

#include <string>

#include "position.hpp"

namespace keisei {

bool is_legal(const Position& position, Move move);

// The rule that an illegal move breaks, as the end of a sentence. Any 16-bit move may be asked about.
std::string illegality(const Position& position, Move move);

}  // namespace keisei
