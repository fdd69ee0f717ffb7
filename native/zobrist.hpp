// Random numbers that make up a position's 64-bit key. Equal positions have equal keys on every machine.
#pragma once

#include <cstdint>

#include "types.hpp"

namespace keisei {

constexpr int MAX_IN_HAND = 18;

struct ZobristTables {
    std::uint64_t piece[PIECE_CODES][SQUARES];
    std::uint64_t hand[2][HAND_TYPES][MAX_IN_HAND + 1];
    std::uint64_t white_to_move;
};

extern const ZobristTables ZOBRIST;

// SplitMix64: the next number of a 64-bit sequence; advances the state.
inline std::uint64_t split_mix(std::uint64_t& state) {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

}  // namespace keisei
