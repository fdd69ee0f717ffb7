// A position: board, hands, side to move; making and taking back moves; checks and pins.
#pragma once

#include <cstdint>

#include "attacks.hpp"
#include "zobrist.hpp"

namespace keisei {

// Pieces that move alike share a set: promoted minor pieces are in GOLD, horses in BISHOP, dragons in ROOK.
constexpr PieceType MOVES_LIKE[PIECE_TYPES] = {PAWN, LANCE, KNIGHT, SILVER, GOLD, BISHOP, ROOK,
                                               KING, GOLD,  GOLD,   GOLD,   GOLD, BISHOP, ROOK};
constexpr int MOVEMENT_GROUPS = 8;

struct Undo {
    std::uint64_t key;
    Piece captured;
};

struct Position {
    Bitboard occupied[2];
    Bitboard group[MOVEMENT_GROUPS];
    Bitboard promoted_majors;  // horses and dragons
    Hand hand[2];
    std::uint64_t key = 0;
    Color turn = BLACK;
    Square king[2] = {NO_SQUARE, NO_SQUARE};
    std::uint16_t ply = 0;  // plies before this position; the SFEN move number less one
    Piece view[2][SQUARES] = {};

    // The board in Black's view is the absolute board.
    Piece at(int square) const { return view[BLACK][square]; }
    Bitboard all() const { return occupied[BLACK] | occupied[WHITE]; }
    Bitboard of(Color color, PieceType movement) const { return occupied[color] & group[movement]; }

    void put(Color color, PieceType type, int square);
    void set_hand(Color color, int type, int count);
    void compute_key();

    // The move must be legal.
    void do_move(Move move, Undo& undo);
    void undo_move(Move move, const Undo& undo);

    // Board, hands and side to move; not the ply.
    bool same_as(const Position& other) const;
};

// What the king of the side to move has to fear.
struct KingDanger {
    Bitboard checkers;
    Bitboard pinned;  // own pieces that shield the king from a slider
};

template <Color Us>
KingDanger king_danger(const Position& position);

// Every square that the colour attacks, given the occupancy.
template <Color By>
Bitboard attacked_squares(const Position& position, Bitboard occupied);

// The pieces of a colour that attack a square, given the occupancy.
Bitboard attackers_of(const Position& position, Color by, int square, Bitboard occupied);

bool in_check(const Position& position, Color color);

}  // namespace keisei
