#include "legality.hpp"

#include <algorithm>

#include "movegen.hpp"
#include "sfen.hpp"

namespace keisei {
namespace {

Bitboard reach(const Position& position, PieceType type, int from) {
    const Color us = position.turn;
    const Bitboard steps = ATTACKS.step[us][type][from];
    switch (type) {
        case LANCE:
            return lance_attacks(us, from, position.all());
        case BISHOP:
        case HORSE:
            return steps | bishop_attacks(from, position.all());
        case ROOK:
        case DRAGON:
            return steps | rook_attacks(from, position.all());
        default:
            return steps;
    }
}

// Rows, seen by the mover, from which a piece of the type could never move again.
int dead_rows(PieceType type) { return type == KNIGHT ? 2 : type == PAWN || type == LANCE ? 1 : 0; }

std::string king_in_danger(const Position& position) {
    const bool checked = in_check(position, position.turn);
    const std::string king =
        std::string("the ") + color_name(position.turn) + " king on " + square_name(position.king[position.turn]);
    return checked ? "it does not answer the check to " + king : "it would leave " + king + " in check";
}

std::string drop_illegality(const Position& position, Move move) {
    const Color us = position.turn;
    const PieceType type = dropped_type(move);
    const int to = move_to(move);
    if (!position.hand[us].has(type)) return std::string(color_name(us)) + " holds no " + type_name(type);
    if (position.at(to) != NO_PIECE) return square_name(to) + " is occupied";
    if (row_of(in_view(us, to)) < dead_rows(type)) {
        return std::string("a ") + type_name(type) + " on " + square_name(to) + " could never move";
    }
    if (type == PAWN) {
        if (position.of(us, PAWN) & column_mask(column_of(to))) {
            return std::string(color_name(us)) + " already has a pawn on file " +
                   std::to_string(BOARD_SIDE - column_of(to)) + " (nifu)";
        }
        const bool checks = ATTACKS.step[us][PAWN][to].has(position.king[~us]);
        if (checks && is_drop_pawn_mate(position, to)) return "dropping a pawn to give mate is forbidden (uchifuzume)";
    }
    return king_in_danger(position);
}

std::string promotion_illegality(Color us, PieceType type, int from, int to) {
    if (!can_promote(type)) return std::string("a ") + type_name(type) + " cannot be promoted";
    const Bitboard zone = far_rows(us, CAMP_DEPTH);
    if (!zone.has(from) && !zone.has(to)) {
        return "neither " + square_name(from) + " nor " + square_name(to) + " is in the promotion zone";
    }
    return {};
}

}  // namespace

bool is_legal(const Position& position, Move move) {
    MoveList list;
    generate_moves(position, list);
    return std::find(list.begin(), list.end(), move) != list.end();
}

std::string illegality(const Position& position, Move move) {
    const Color us = position.turn;
    const int to = move_to(move);
    const int from = move_from(move);
    if (!is_well_formed(move)) return "it is not a move of any position";
    if (is_drop(move)) return drop_illegality(position, move);
    const Piece piece = position.at(from);
    if (piece == NO_PIECE) return square_name(from) + " is empty";
    if (color_of(piece) != us) {
        return "the piece on " + square_name(from) + " is " + color_name(~us) + "'s, and " + color_name(us) +
               " is to move";
    }
    const PieceType type = type_of(piece);
    if (position.occupied[us].has(to)) return square_name(to) + " holds " + color_name(us) + "'s own piece";
    if (!reach(position, type, from).has(to)) {
        return std::string("the ") + type_name(type) + " on " + square_name(from) + " does not reach " +
               square_name(to);
    }
    if (is_promotion(move)) {
        const std::string reason = promotion_illegality(us, type, from, to);
        if (!reason.empty()) return reason;
    } else if (row_of(in_view(us, to)) < dead_rows(type)) {
        return std::string("a ") + type_name(type) + " must promote on " + square_name(to);
    }
    return king_in_danger(position);
}

}  // namespace keisei
