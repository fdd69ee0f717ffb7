#include "rules.hpp"

namespace keisei {
namespace {

constexpr int BIG_PIECE_POINTS = 5;
constexpr int PIECES_IN_CAMP = 10;  // besides the king
constexpr int POINTS_27[2] = {28, 27};
constexpr int POINTS_24_WIN = 31;
constexpr int POINTS_24_DRAW = 24;
constexpr int TRY_SQUARE_SEEN = 4;  // file 5 of the far rank, in the mover's view

// King in the far camp with at least ten companions there, and not in check.
bool has_entered(const Position& position, Color color) {
    const Bitboard camp = far_rows(color, CAMP_DEPTH);
    if (!camp.has(position.king[color])) return false;
    if ((position.occupied[color] & camp).count() - 1 < PIECES_IN_CAMP) return false;
    return !in_check(position, color);
}

}  // namespace

int impasse_points(const Position& position, Color color) {
    const Bitboard own = position.occupied[color] & far_rows(color, CAMP_DEPTH);
    const Bitboard big = own & (position.group[BISHOP] | position.group[ROOK]);
    int points = own.without(position.group[KING]).count() + (BIG_PIECE_POINTS - 1) * big.count();
    for (int type = 0; type < HAND_TYPES; ++type) {
        points += position.hand[color].count(type) * (type >= BISHOP ? BIG_PIECE_POINTS : 1);
    }
    return points;
}

Outcome declaration(const Position& position, ImpasseRule rule) {
    const Color us = position.turn;
    if (rule != ImpasseRule::CSA27 && rule != ImpasseRule::CSA24) return {};
    if (!has_entered(position, us)) return {};
    const int points = impasse_points(position, us);
    if (rule == ImpasseRule::CSA27) {
        return points >= POINTS_27[us] ? win(us, Reason::DECLARATION) : Outcome{};
    }
    if (points >= POINTS_24_WIN) return win(us, Reason::DECLARATION);
    return points >= POINTS_24_DRAW ? draw(Reason::IMPASSE) : Outcome{};
}

bool try_succeeded(const Position& position) {
    const Color mover = ~position.turn;
    return in_view(mover, position.king[mover]) == TRY_SQUARE_SEEN;
}

}  // namespace keisei
