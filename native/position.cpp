#include "position.hpp"

#include <cstring>

namespace keisei {
namespace {

inline void place(Position& position, Color color, PieceType type, int square) {
    const Bitboard bit = Bitboard::of(square);
    position.occupied[color] ^= bit;
    position.group[MOVES_LIKE[type]] ^= bit;
    if (type >= HORSE) position.promoted_majors ^= bit;
}

inline void write_views(Position& position, int square, Piece piece) {
    position.view[BLACK][square] = piece;
    position.view[WHITE][rotated(square)] = swap_color(piece);
}

}  // namespace

void Position::put(Color color, PieceType type, int square) {
    place(*this, color, type, square);
    write_views(*this, square, make_piece(color, type));
    if (type == KING) king[color] = static_cast<Square>(square);
}

void Position::set_hand(Color color, int type, int count) { hand[color].add(type, count - hand[color].count(type)); }

void Position::compute_key() {
    key = turn == WHITE ? ZOBRIST.white_to_move : 0;
    for (int square = 0; square < SQUARES; ++square) {
        if (at(square) != NO_PIECE) key ^= ZOBRIST.piece[at(square)][square];
    }
    for (int color = 0; color < 2; ++color) {
        for (int type = 0; type < HAND_TYPES; ++type) key ^= ZOBRIST.hand[color][type][hand[color].count(type)];
    }
}

void Position::do_move(Move move, Undo& undo) {
    const Color us = turn;
    const int to = move_to(move);
    undo.key = key;
    undo.captured = NO_PIECE;
    std::uint64_t new_key = key ^ ZOBRIST.white_to_move;
    if (is_drop(move)) {
        const PieceType type = dropped_type(move);
        const int held = hand[us].count(type);
        hand[us].remove(type);
        const Piece piece = make_piece(us, type);
        place(*this, us, type, to);
        write_views(*this, to, piece);
        new_key ^= ZOBRIST.piece[piece][to] ^ ZOBRIST.hand[us][type][held] ^ ZOBRIST.hand[us][type][held - 1];
    } else {
        const int from = move_from(move);
        const Piece piece = at(from);
        const PieceType type = type_of(piece);
        const Piece captured = at(to);
        if (captured != NO_PIECE) {
            const PieceType captured_type = type_of(captured);
            const PieceType gained = unpromoted(captured_type);
            const int held = hand[us].count(gained);
            place(*this, ~us, captured_type, to);
            hand[us].add(gained);
            undo.captured = captured;
            new_key ^=
                ZOBRIST.piece[captured][to] ^ ZOBRIST.hand[us][gained][held] ^ ZOBRIST.hand[us][gained][held + 1];
        }
        const PieceType new_type = is_promotion(move) ? promoted(type) : type;
        const Piece new_piece = make_piece(us, new_type);
        place(*this, us, type, from);
        place(*this, us, new_type, to);
        write_views(*this, from, NO_PIECE);
        write_views(*this, to, new_piece);
        if (type == KING) king[us] = static_cast<Square>(to);
        new_key ^= ZOBRIST.piece[piece][from] ^ ZOBRIST.piece[new_piece][to];
    }
    key = new_key;
    turn = ~us;
    ++ply;
}

void Position::undo_move(Move move, const Undo& undo) {
    const Color us = ~turn;
    const int to = move_to(move);
    if (is_drop(move)) {
        const PieceType type = dropped_type(move);
        place(*this, us, type, to);
        write_views(*this, to, NO_PIECE);
        hand[us].add(type);
    } else {
        const int from = move_from(move);
        const PieceType new_type = type_of(at(to));
        const PieceType type = is_promotion(move) ? unpromoted(new_type) : new_type;
        place(*this, us, new_type, to);
        place(*this, us, type, from);
        write_views(*this, from, make_piece(us, type));
        write_views(*this, to, undo.captured);
        if (undo.captured != NO_PIECE) {
            const PieceType captured_type = type_of(undo.captured);
            place(*this, ~us, captured_type, to);
            hand[us].remove(unpromoted(captured_type));
        }
        if (type == KING) king[us] = static_cast<Square>(from);
    }
    key = undo.key;
    turn = us;
    --ply;
}

bool Position::same_as(const Position& other) const {
    return turn == other.turn && hand[BLACK] == other.hand[BLACK] && hand[WHITE] == other.hand[WHITE] &&
           std::memcmp(view[BLACK], other.view[BLACK], SQUARES) == 0;
}

namespace {

// Steppers of `by` that attack a square, looked up from the square with the other side's steps.
inline Bitboard stepping_attackers(const Position& position, Color by, int square) {
    const auto& steps = ATTACKS.step[~by];
    const Bitboard majors = position.promoted_majors;
    return position.occupied[by] &
           ((steps[PAWN][square] & position.group[PAWN]) | (steps[KNIGHT][square] & position.group[KNIGHT]) |
            (steps[SILVER][square] & position.group[SILVER]) | (steps[GOLD][square] & position.group[GOLD]) |
            (steps[HORSE][square] & position.group[BISHOP] & majors) |
            (steps[DRAGON][square] & position.group[ROOK] & majors));
}

}  // namespace

template <Color Us>
KingDanger king_danger(const Position& position) {
    constexpr Color Them = ~Us;
    const int king = position.king[Us];
    const Bitboard occupied = position.all();
    KingDanger danger{stepping_attackers(position, Them, king), {}};
    const Line& column = ATTACKS.column[king];
    Bitboard sliders =
        position.occupied[Them] &
        ((ATTACKS.rook_rays[king] & position.group[ROOK]) | (ATTACKS.bishop_rays[king] & position.group[BISHOP]) |
         ((Us == BLACK ? column.below : column.above) & position.group[LANCE]));
    while (sliders) {
        const int slider = sliders.pop();
        const Bitboard shield = ATTACKS.between[king][slider] & occupied;
        if (!shield) {
            danger.checkers |= Bitboard::of(slider);
        } else if (!shield.more_than_one()) {
            danger.pinned |= shield & position.occupied[Us];
        }
    }
    return danger;
}

template KingDanger king_danger<BLACK>(const Position&);
template KingDanger king_danger<WHITE>(const Position&);

template <Color By>
Bitboard attacked_squares(const Position& position, Bitboard occupied) {
    const auto forward = [](Bitboard b) { return By == BLACK ? step_north(b) : step_south(b); };
    const auto back = [](Bitboard b) { return By == BLACK ? step_south(b) : step_north(b); };
    const Bitboard own = position.occupied[By];
    const Bitboard silvers = own & position.group[SILVER];
    const Bitboard golds = own & position.group[GOLD];
    const Bitboard bishops = own & position.group[BISHOP];
    const Bitboard rooks = own & position.group[ROOK];
    const Bitboard horses = bishops & position.promoted_majors;
    const Bitboard dragons = rooks & position.promoted_majors;
    // One sideways step in both directions serves all oblique moves at once.
    const Bitboard beside = forward(silvers | golds | dragons) | golds | horses | back(silvers | dragons) |
                            forward(forward(own & position.group[KNIGHT]));
    Bitboard attacked = forward((own & position.group[PAWN]) | silvers | golds | horses) | back(golds | horses) |
                        step_west(beside) | step_east(beside) | ATTACKS.step[By][KING][position.king[By]];
    for (Bitboard lances = own & position.group[LANCE]; lances;) {
        attacked |= lance_attacks(By, lances.pop(), occupied);
    }
    for (Bitboard set = bishops; set;) attacked |= bishop_attacks(set.pop(), occupied);
    for (Bitboard set = rooks; set;) attacked |= rook_attacks(set.pop(), occupied);
    return attacked;
}

template Bitboard attacked_squares<BLACK>(const Position&, Bitboard);
template Bitboard attacked_squares<WHITE>(const Position&, Bitboard);

Bitboard attackers_of(const Position& position, Color by, int square, Bitboard occupied) {
    const Bitboard own = position.occupied[by];
    return stepping_attackers(position, by, square) |
           (own & ((bishop_attacks(square, occupied) & position.group[BISHOP]) |
                   (rook_attacks(square, occupied) & position.group[ROOK]) |
                   (lance_attacks(~by, square, occupied) & position.group[LANCE]) |
                   (ATTACKS.step[by][KING][square] & position.group[KING])));
}

bool in_check(const Position& position, Color color) {
    return static_cast<bool>(attackers_of(position, ~color, position.king[color], position.all()));
}

}  // namespace keisei
