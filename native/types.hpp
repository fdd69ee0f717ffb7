// The vocabulary of the engine: colours, pieces, squares, hands and moves.
#pragma once

#include <array>
#include <cstdint>

namespace keisei {

enum Color : std::uint8_t { BLACK = 0, WHITE = 1 };

constexpr Color operator~(Color color) { return static_cast<Color>(color ^ 1); }

// Piece types in the order of the observation planes. The first seven can be held in hand.
enum PieceType : std::uint8_t {
    PAWN,
    LANCE,
    KNIGHT,
    SILVER,
    GOLD,
    BISHOP,
    ROOK,
    KING,
    PRO_PAWN,
    PRO_LANCE,
    PRO_KNIGHT,
    PRO_SILVER,
    HORSE,
    DRAGON,
};
constexpr int PIECE_TYPES = 14;
constexpr int HAND_TYPES = 7;

// All the pieces of one type that exist; also the most that one hand can hold.
constexpr std::array<int, HAND_TYPES> PIECES_IN_SET = {18, 4, 4, 4, 4, 2, 2};

constexpr bool is_promoted(PieceType type) { return type > KING; }

constexpr bool can_promote(PieceType type) { return type < KING && type != GOLD; }

constexpr PieceType promoted(PieceType type) {
    return static_cast<PieceType>(type < GOLD ? type + PRO_PAWN : type - BISHOP + HORSE);
}

constexpr PieceType unpromoted(PieceType type) {
    if (!is_promoted(type)) return type;
    return static_cast<PieceType>(type < HORSE ? type - PRO_PAWN : type - HORSE + BISHOP);
}

// A board byte: 0 is empty, 1 + type belongs to the viewer, 15 + type to the other side.
// Position keeps the board in both players' views; the absolute board is Black's view.
using Piece = std::uint8_t;
constexpr Piece NO_PIECE = 0;
constexpr int PIECE_CODES = 1 + 2 * PIECE_TYPES;

constexpr Piece make_piece(Color color, PieceType type) {
    return static_cast<Piece>(1 + type + (color == BLACK ? 0 : PIECE_TYPES));
}
constexpr Color color_of(Piece piece) { return piece > PIECE_TYPES ? WHITE : BLACK; }
constexpr PieceType type_of(Piece piece) {
    return static_cast<PieceType>(piece > PIECE_TYPES ? piece - 1 - PIECE_TYPES : piece - 1);
}
constexpr Piece swap_color(Piece piece) {
    if (piece == NO_PIECE) return NO_PIECE;
    return static_cast<Piece>(piece > PIECE_TYPES ? piece - PIECE_TYPES : piece + PIECE_TYPES);
}

// Squares are numbered 9 * row + column: row 0 is rank a, column 0 is file 9.
using Square = std::uint8_t;
constexpr int BOARD_SIDE = 9;
constexpr int SQUARES = 81;
constexpr Square NO_SQUARE = 127;
constexpr int CAMP_DEPTH = 3;

constexpr int row_of(int square) { return square / BOARD_SIDE; }
constexpr int column_of(int square) { return square % BOARD_SIDE; }
constexpr int rotated(int square) { return SQUARES - 1 - square; }
constexpr int mirrored(int square) { return row_of(square) * BOARD_SIDE + BOARD_SIDE - 1 - column_of(square); }
// The square as the given player sees it; its own inverse.
constexpr int in_view(Color viewer, int square) { return viewer == BLACK ? square : rotated(square); }

// A move in 16 bits: destination (7), origin or DROP_ORIGIN + hand type (7), promotion (1).
using Move = std::uint16_t;
constexpr Move NO_MOVE = 0;  // from square 0 to square 0: never a move
constexpr int DROP_ORIGIN = SQUARES;
constexpr Move PROMOTE_BIT = 1 << 14;

constexpr Move board_move(int from, int to) { return static_cast<Move>(to | from << 7); }
constexpr Move drop_move(int hand_type, int to) { return static_cast<Move>(to | (DROP_ORIGIN + hand_type) << 7); }
constexpr int move_to(Move move) { return move & 127; }
constexpr int move_from(Move move) { return move >> 7 & 127; }
constexpr bool is_drop(Move move) { return move_from(move) >= DROP_ORIGIN; }
constexpr PieceType dropped_type(Move move) { return static_cast<PieceType>(move_from(move) - DROP_ORIGIN); }
constexpr bool is_promotion(Move move) { return (move & PROMOTE_BIT) != 0; }
// Any 16 bits may come from outside; only these are moves of some position.
constexpr bool is_well_formed(Move move) {
    return move >> 15 == 0 && move_to(move) < SQUARES && move_from(move) < DROP_ORIGIN + HAND_TYPES &&
           move_from(move) != move_to(move) && !(is_drop(move) && is_promotion(move));
}

// The most legal moves any position can have.
constexpr int MAX_LEGAL_MOVES = 593;

// A hand as one byte a piece type, so that two hands compare as two words.
struct Hand {
    std::uint64_t packed = 0;

    int count(int type) const { return static_cast<int>(packed >> (8 * type) & 0xff); }
    bool has(int type) const { return (packed >> (8 * type) & 0xff) != 0; }
    void add(int type, int n = 1) { packed += static_cast<std::uint64_t>(n) << (8 * type); }
    void remove(int type) { packed -= std::uint64_t{1} << (8 * type); }
    bool empty() const { return packed == 0; }
    bool operator==(const Hand&) const = default;
};

}  // namespace keisei
