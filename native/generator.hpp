// The legal move generator, as a template over the sink that receives the moves.
//
// A sink has four calls, each for a whole set of destinations:
//   moves(from, targets)         without promotion
//   promotions(from, targets)    with promotion
//   pawn_moves(targets, promote) pawns, whose origin follows from the destination
//   drops(hand_type, targets)
// It may have a fifth, is_satisfied(): then nothing but the king's moves need come.
#pragma once

#include "position.hpp"

namespace keisei {

template <Color Us>
constexpr Bitboard forward_of(Bitboard set) {
    return Us == BLACK ? step_north(set) : step_south(set);
}

// Columns that hold a pawn of the set, as full columns.
inline Bitboard columns_of(Bitboard pawns) {
    const Bitboard three_rows = pawns | pawns.down(27) | pawns.down(54);
    const std::uint64_t bits = (three_rows.lo | three_rows.lo >> 9 | three_rows.lo >> 18) & 0x1ff;
    constexpr std::uint64_t SEVEN_ROWS = 1 | 1ULL << 9 | 1ULL << 18 | 1ULL << 27 | 1ULL << 36 | 1ULL << 45 | 1ULL << 54;
    // Row 7 begins in the last bit of the low word.
    return {bits * SEVEN_ROWS | bits << 63, bits >> 1 | bits << 8};
}

template <Color Us>
bool drop_pawn_mates(const Position& position, int square) {
    constexpr Color Them = ~Us;
    const int king = position.king[Them];
    const Bitboard occupied = position.all() | Bitboard::of(square);
    Bitboard defenders = attackers_of(position, Them, square, occupied).without(position.group[KING]);
    if (defenders) {
        const Bitboard pinned = king_danger<Them>(position).pinned;
        while (defenders) {
            const int from = defenders.pop();
            if (!pinned.has(from) || ATTACKS.through[king][from].has(square)) return false;
        }
    }
    const Bitboard attacked = attacked_squares<Us>(position, occupied ^ Bitboard::of(king));
    return !ATTACKS.step[Them][KING][king].without(position.occupied[Them] | attacked);
}

template <Color Us, class Sink>
class Generator {
public:
    Generator(const Position& position, Sink& sink) : position_(position), sink_(sink) {}

    // Returns the pieces that give check.
    Bitboard run() {
        const KingDanger danger = king_danger<Us>(position_);
        king_moves();
        if constexpr (requires { sink_.is_satisfied(); }) {
            if (sink_.is_satisfied()) return danger.checkers;
        }
        if (danger.checkers.more_than_one()) return danger.checkers;
        Bitboard allowed = ALL_SQUARES;
        if (danger.checkers) {
            allowed = danger.checkers | ATTACKS.between[position_.king[Us]][danger.checkers.first()];
        }
        pinned_ = danger.pinned;
        targets_ = allowed.without(position_.occupied[Us]);
        pawn_moves();
        lance_moves();
        knight_moves();
        silver_moves();
        gold_moves();
        major_moves<BISHOP>();
        major_moves<ROOK>();
        if (!position_.hand[Us].empty()) drops(allowed.without(position_.all()));
        return danger.checkers;
    }

private:
    static constexpr Bitboard ZONE = far_rows(Us, CAMP_DEPTH);
    static constexpr Bitboard LAST_ROW = far_rows(Us, 1);
    static constexpr Bitboard LAST_TWO_ROWS = far_rows(Us, 2);

    Bitboard own(PieceType movement) const { return position_.of(Us, movement); }

    // What is left of a piece's targets when it may be pinned.
    Bitboard unpinned_part(int from, Bitboard targets) const {
        if (!pinned_.has(from)) return targets;
        return targets & ATTACKS.through[position_.king[Us]][from];
    }

    void king_moves() {
        const int king = position_.king[Us];
        const Bitboard around = ATTACKS.step[Us][KING][king].without(position_.occupied[Us]);
        if (!around) return;
        const Bitboard attacked = attacked_squares<~Us>(position_, position_.all() ^ Bitboard::of(king));
        sink_.moves(king, around.without(attacked));
    }

    void pawn_moves() {
        // A pinned pawn may still advance when the pin runs along its column.
        const Bitboard free = own(PAWN).without(pinned_.without(column_mask_of_king()));
        const Bitboard to = forward_of<Us>(free) & targets_;
        sink_.pawn_moves(to & ZONE, true);
        sink_.pawn_moves(to.without(LAST_ROW), false);
    }

    Bitboard column_mask_of_king() const {
        const Line& column = ATTACKS.column[position_.king[Us]];
        return column.below | column.above;
    }

    void lance_moves() {
        for (Bitboard set = own(LANCE); set;) {
            const int from = set.pop();
            const Bitboard to = unpinned_part(from, lance_attacks(Us, from, position_.all()) & targets_);
            sink_.promotions(from, to & ZONE);
            sink_.moves(from, to.without(LAST_ROW));
        }
    }

    void knight_moves() {
        for (Bitboard set = own(KNIGHT).without(pinned_); set;) {  // a pinned knight never stays on the line
            const int from = set.pop();
            const Bitboard to = ATTACKS.step[Us][KNIGHT][from] & targets_;
            sink_.promotions(from, to & ZONE);
            sink_.moves(from, to.without(LAST_TWO_ROWS));
        }
    }

    void silver_moves() {
        for (Bitboard set = own(SILVER); set;) {
            const int from = set.pop();
            const Bitboard to = unpinned_part(from, ATTACKS.step[Us][SILVER][from] & targets_);
            sink_.promotions(from, ZONE.has(from) ? to : to & ZONE);
            sink_.moves(from, to);
        }
    }

    void gold_moves() {
        for (Bitboard set = own(GOLD); set;) {
            const int from = set.pop();
            sink_.moves(from, unpinned_part(from, ATTACKS.step[Us][GOLD][from] & targets_));
        }
    }

    template <PieceType Type>
    void major_moves() {
        constexpr PieceType PROMOTED = promoted(Type);
        for (Bitboard set = own(Type); set;) {
            const int from = set.pop();
            const Bitboard slide =
                Type == BISHOP ? bishop_attacks(from, position_.all()) : rook_attacks(from, position_.all());
            if (position_.promoted_majors.has(from)) {
                const Bitboard reach = slide | ATTACKS.step[Us][PROMOTED][from];
                sink_.moves(from, unpinned_part(from, reach & targets_));
                continue;
            }
            const Bitboard to = unpinned_part(from, slide & targets_);
            sink_.promotions(from, ZONE.has(from) ? to : to & ZONE);
            sink_.moves(from, to);
        }
    }

    void drops(Bitboard empty) {
        if (!empty) return;
        const Hand hand = position_.hand[Us];
        if (hand.has(PAWN)) sink_.drops(PAWN, pawn_drops(empty));
        if (hand.has(LANCE)) sink_.drops(LANCE, empty.without(LAST_ROW));
        if (hand.has(KNIGHT)) sink_.drops(KNIGHT, empty.without(LAST_TWO_ROWS));
        for (int type = SILVER; type <= ROOK; ++type) {
            if (hand.has(type)) sink_.drops(type, empty);
        }
    }

    Bitboard pawn_drops(Bitboard empty) const {
        Bitboard to = empty.without(LAST_ROW | columns_of(own(PAWN)));
        const Bitboard checking = to & ATTACKS.step[~Us][PAWN][position_.king[~Us]];
        if (checking && drop_pawn_mates<Us>(position_, checking.first())) to ^= checking;
        return to;
    }

    const Position& position_;
    Sink& sink_;
    Bitboard pinned_;
    Bitboard targets_;  // where a piece other than the king may go
};

// Generates for the side to move; returns the checkers.
template <template <Color> class Sink, class... Args>
Bitboard generate_into(const Position& position, int& size, Args&&... args) {
    if (position.turn == BLACK) {
        Sink<BLACK> sink(std::forward<Args>(args)...);
        const Bitboard checkers = Generator<BLACK, Sink<BLACK>>(position, sink).run();
        size = sink.size();
        return checkers;
    }
    Sink<WHITE> sink(std::forward<Args>(args)...);
    const Bitboard checkers = Generator<WHITE, Sink<WHITE>>(position, sink).run();
    size = sink.size();
    return checkers;
}

}  // namespace keisei
