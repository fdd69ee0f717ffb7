// A position in 96 bytes, in the mover's view. The one format for buffers, files, processes and the GPU.
//
//   0..80  board as the mover sees it: 0 empty, 1 + type the mover's piece, 15 + type the opponent's
//  81..84  mover's hand: pawns; lances | knights << 4; silvers | golds << 4; bishops | rooks << 4
//  85..88  opponent's hand, likewise
//  89      bit 0: White moves; bit 1: the mover is in check; bits 2-3: earlier occurrences of the position (0..3)
//  90..91  ply, little endian
//  92..93  ply cap of the game, little endian
//  94..95  zero
#pragma once

#include <cstdint>

#include "position.hpp"

namespace keisei {

constexpr int RECORD_BYTES = 96;
constexpr int RECORD_HANDS = 81;
constexpr int RECORD_FLAGS = 89;
constexpr int RECORD_PLY = 90;
constexpr int RECORD_CAP = 92;
constexpr int MAX_EARLIER_OCCURRENCES = 3;

// What a record knows beyond the position.
struct RecordContext {
    bool in_check = false;
    int earlier_occurrences = 0;
    std::uint16_t max_plies = 0;
};

void pack_record(const Position& position, const RecordContext& context, std::uint8_t* out);

// Throws SfenError when the bytes describe no possible position.
Position unpack_record(const std::uint8_t* record, RecordContext& context);

// Reads a record that this engine wrote, without proving it; fields out of range still do no harm.
// Returns false when the record cannot be a position at all (a king missing, a byte out of range, too many pieces).
bool read_trusted_record(const std::uint8_t* record, Position& position);

// The left-right mirror image of a record.
void mirror_record(const std::uint8_t* record, std::uint8_t* out);

}  // namespace keisei
