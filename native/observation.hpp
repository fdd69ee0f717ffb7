// Observation planes (46 x 9 x 9, the mover's view) from packed records.
#pragma once

#include <cstdint>

#include "record.hpp"

namespace keisei {

constexpr int PLANES = 46;
constexpr int PIECE_PLANES = 2 * PIECE_TYPES;
constexpr int HAND_PLANE = PIECE_PLANES;
constexpr int TURN_PLANE = 42;
constexpr int PLY_PLANE = 43;
constexpr int OCCURRENCE_PLANE = 44;
constexpr int CHECK_PLANE = 45;
constexpr int SCALAR_PLANES = PLANES - PIECE_PLANES;

// What one unit of a uint8 plane is worth in the float planes: hand counts by the size of a set, the ply share in
// 255ths, earlier occurrences in thirds.
extern const float PLANE_SCALE[PLANES];

// out: PLANES * 81 numbers.
void unpack_planes(const std::uint8_t* record, std::uint8_t* out);
void unpack_planes(const std::uint8_t* record, float* out);

// Piece planes as bits (two words a plane, square 0 lowest), the constant planes as one number each.
void unpack_bits(const std::uint8_t* record, std::uint64_t* bits, float* scalars);

}  // namespace keisei
