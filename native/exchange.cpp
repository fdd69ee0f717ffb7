#include "exchange.hpp"

#include <algorithm>

#include "movegen.hpp"

namespace keisei {
namespace {

// Taking a piece removes it from the board and adds its unpromoted self to the hand.
int capture_value(Piece piece) {
    if (piece == NO_PIECE) return 0;
    return PIECE_VALUE[type_of(piece)] + PIECE_VALUE[unpromoted(type_of(piece))];
}

int side_material(const Position& position, Color color) {
    int total = 0;
    for (Bitboard set = position.occupied[color]; set;) total += PIECE_VALUE[type_of(position.at(set.pop()))];
    for (int type = 0; type < HAND_TYPES; ++type) total += PIECE_VALUE[type] * position.hand[color].count(type);
    return total;
}

// The cheapest attacker; the king comes last since it has no price.
int least_valuable(const Position& position, Bitboard attackers) {
    int best = attackers.first();
    int best_value = 1 << 20;
    while (attackers) {
        const int square = attackers.pop();
        const PieceType type = type_of(position.at(square));
        const int value = type == KING ? 1 << 19 : PIECE_VALUE[type];
        if (value < best_value) {
            best = square;
            best_value = value;
        }
    }
    return best;
}

// The four bytes of a packed hand.
int packed_hand_material(const std::uint8_t* hand) {
    constexpr PieceType LOW[] = {LANCE, SILVER, BISHOP};
    constexpr PieceType HIGH[] = {KNIGHT, GOLD, ROOK};
    int total = hand[0] * PIECE_VALUE[PAWN];
    for (int i = 0; i < 3; ++i) {
        total += (hand[i + 1] & 15) * PIECE_VALUE[LOW[i]] + (hand[i + 1] >> 4) * PIECE_VALUE[HIGH[i]];
    }
    return total;
}

int immediate_gain(const Position& position, Move move) {
    if (is_drop(move)) return 0;
    const PieceType type = type_of(position.at(move_from(move)));
    const int promotion = is_promotion(move) ? PIECE_VALUE[promoted(type)] - PIECE_VALUE[type] : 0;
    return capture_value(position.at(move_to(move))) + promotion;
}

}  // namespace

int record_material(const std::uint8_t* record) {
    int total = packed_hand_material(record + RECORD_HANDS) - packed_hand_material(record + RECORD_HANDS + 4);
    for (int square = 0; square < SQUARES; ++square) {
        const int code = record[square];
        if (code == NO_PIECE || code >= PIECE_CODES) continue;
        total += code <= PIECE_TYPES ? PIECE_VALUE[code - 1] : -PIECE_VALUE[code - 1 - PIECE_TYPES];
    }
    return total;
}

std::vector<Move> greediest_moves(const Position& position) {
    MoveList list;
    generate_moves(position, list);
    std::vector<Move> best;
    int best_gain = -1;
    for (const Move move : list) {
        const int gain = immediate_gain(position, move);
        if (gain < best_gain) continue;
        if (gain > best_gain) best.clear();
        best_gain = gain;
        best.push_back(move);
    }
    return best;
}

int material(const Position& position, Color color) {
    return side_material(position, color) - side_material(position, ~color);
}

int static_exchange(const Position& position, Move move) {
    const int to = move_to(move);
    constexpr int LONGEST = 41;  // the first capture and at most one by each other piece of the set
    int gain[LONGEST];
    Bitboard occupied = position.all() | Bitboard::of(to);
    Color side = position.turn;
    Piece standing;  // the piece that the next capture would win
    gain[0] = immediate_gain(position, move);
    if (is_drop(move)) {
        standing = make_piece(side, dropped_type(move));
    } else {
        const int from = move_from(move);
        const PieceType type = type_of(position.at(from));
        standing = make_piece(side, is_promotion(move) ? promoted(type) : type);
        occupied ^= Bitboard::of(from);
    }
    int depth = 0;
    while (depth + 1 < LONGEST) {
        side = ~side;
        const Bitboard attackers = attackers_of(position, side, to, occupied) & occupied;
        if (!attackers) break;
        const int from = least_valuable(position, attackers);
        const bool king_captures = type_of(position.at(from)) == KING;
        const Bitboard after = occupied ^ Bitboard::of(from);
        if (king_captures && (attackers_of(position, ~side, to, after) & after)) break;
        ++depth;
        gain[depth] = capture_value(standing) - gain[depth - 1];
        standing = position.at(from);
        occupied = after;
    }
    for (; depth > 0; --depth) gain[depth - 1] = -std::max(-gain[depth - 1], gain[depth]);
    return gain[0];
}

}  // namespace keisei
