// Attack sets: tables for steps, obstruction difference for sliders.
#pragma once

#include "bitboard.hpp"

namespace keisei {

// One line through a square, split at the square: the squares numbered below it and above it.
struct Line {
    Bitboard below;
    Bitboard above;
};

struct AttackTables {
    // step[color][type][square]: attacks of steppers on an empty board. For sliders only the steps a
    // promoted piece adds (HORSE: orthogonal, DRAGON: diagonal); BISHOP, ROOK and LANCE are empty.
    Bitboard step[2][PIECE_TYPES][SQUARES];
    Line column[SQUARES];
    Line row[SQUARES];
    Line diagonal[SQUARES];       // from upper left to lower right
    Line anti_diagonal[SQUARES];  // from upper right to lower left
    Bitboard bishop_rays[SQUARES];
    Bitboard rook_rays[SQUARES];
    Bitboard between[SQUARES][SQUARES];  // squares strictly between two aligned squares
    Bitboard through[SQUARES][SQUARES];  // the whole line through two aligned squares, both included
};

extern const AttackTables ATTACKS;

// Obstruction difference: subtracting the nearest blocker below from the blockers above flips exactly
// the bits up to the nearest blocker above; the mask keeps those that lie on the line.
inline Bitboard line_attacks(const Line& line, Bitboard occupied) {
    const Bitboard nearest_below = highest_or_zeroth(line.below & occupied);
    const Bitboard blockers_above = line.above & occupied;
    return (blockers_above ^ subtract(blockers_above, nearest_below)) & (line.below | line.above);
}

inline Bitboard bishop_attacks(int square, Bitboard occupied) {
    return line_attacks(ATTACKS.diagonal[square], occupied) | line_attacks(ATTACKS.anti_diagonal[square], occupied);
}

inline Bitboard rook_attacks(int square, Bitboard occupied) {
    return line_attacks(ATTACKS.column[square], occupied) | line_attacks(ATTACKS.row[square], occupied);
}

inline Bitboard lance_attacks(Color color, int square, Bitboard occupied) {
    const Line& line = ATTACKS.column[square];
    if (color == BLACK) {
        // Everything from the nearest blocker below, or from the edge, up to the square itself.
        const Bitboard nearest = highest_or_zeroth(line.below & occupied);
        return subtract(Bitboard::of(square), nearest) & line.below;
    }
    const Bitboard blockers = line.above & occupied;
    return (blockers ^ subtract(blockers, Bitboard{1, 0})) & line.above;
}

}  // namespace keisei
