#include "mate.hpp"

#include <algorithm>
#include <unordered_map>

#include "move_sink.hpp"

namespace keisei {
namespace {

Bitboard slider_reach(PieceType movement, int square, Bitboard occupied) {
    return movement == BISHOP ? bishop_attacks(square, occupied) : rook_attacks(square, occupied);
}

// From where the side to move gives check.
class CheckFinder {
public:
    explicit CheckFinder(const Position& position) : position_(position), enemy_king_(position.king[~position.turn]) {
        const Color us = position.turn;
        const Bitboard occupied = position.all();
        const auto& from_king = ATTACKS.step[~us];
        for (const PieceType type : {PAWN, KNIGHT, SILVER, GOLD}) check_squares_[type] = from_king[type][enemy_king_];
        for (const PieceType type : {PRO_PAWN, PRO_LANCE, PRO_KNIGHT, PRO_SILVER})
            check_squares_[type] = check_squares_[GOLD];
        check_squares_[LANCE] = lance_attacks(~us, enemy_king_, occupied);
        check_squares_[BISHOP] = slider_reach(BISHOP, enemy_king_, occupied);
        check_squares_[ROOK] = slider_reach(ROOK, enemy_king_, occupied);
        check_squares_[HORSE] = check_squares_[BISHOP] | from_king[HORSE][enemy_king_];
        check_squares_[DRAGON] = check_squares_[ROOK] | from_king[DRAGON][enemy_king_];
        find_discoverers(us, occupied);
    }

    Bitboard by_piece(int from, bool promote, Bitboard targets) const {
        const PieceType type = type_of(position_.at(from));
        Bitboard checking = check_squares_[promote ? promoted(type) : type];
        if (discoverers_.has(from)) checking |= ALL_SQUARES.without(ATTACKS.through[enemy_king_][from]);
        return targets & checking;
    }

    template <Color Us>
    Bitboard by_pawns(bool promote, Bitboard targets) const {
        // On the king's column a pawn advances along the line that it shields.
        const Line& column = ATTACKS.column[enemy_king_];
        const Bitboard leaving = (discoverers_ & position_.group[PAWN]).without(column.below | column.above);
        return targets & (check_squares_[promote ? PRO_PAWN : PAWN] | forward_of<Us>(leaving));
    }

    Bitboard by_drop(int type, Bitboard targets) const { return targets & check_squares_[type]; }

private:
    void find_discoverers(Color us, Bitboard occupied) {
        const Line& column = ATTACKS.column[enemy_king_];
        Bitboard sliders =
            position_.occupied[us] & ((ATTACKS.rook_rays[enemy_king_] & position_.group[ROOK]) |
                                      (ATTACKS.bishop_rays[enemy_king_] & position_.group[BISHOP]) |
                                      ((us == BLACK ? column.above : column.below) & position_.group[LANCE]));
        while (sliders) {
            const Bitboard shield = ATTACKS.between[enemy_king_][sliders.pop()] & occupied;
            if (shield && !shield.more_than_one()) discoverers_ |= shield & position_.occupied[us];
        }
    }

    const Position& position_;
    int enemy_king_;
    Bitboard check_squares_[PIECE_TYPES];
    Bitboard discoverers_;  // own pieces that shield the enemy king from an own slider
};

// Lets only checks through.
template <Color Us>
class CheckSink {
public:
    CheckSink(const CheckFinder& checks, Move* out) : checks_(checks), found_(out) {}

    void moves(int from, Bitboard targets) { found_.moves(from, checks_.by_piece(from, false, targets)); }
    void promotions(int from, Bitboard targets) { found_.promotions(from, checks_.by_piece(from, true, targets)); }
    void pawn_moves(Bitboard targets, bool promote) {
        found_.pawn_moves(checks_.by_pawns<Us>(promote, targets), promote);
    }
    void drops(int type, Bitboard targets) { found_.drops(type, checks_.by_drop(type, targets)); }
    int size() const { return found_.size(); }

private:
    const CheckFinder& checks_;
    MoveSink<Us> found_;
};

// Iterative deepening over an and/or tree. Depths are plies left; the attacker moves at odd depths.
class MateSearch {
public:
    MateSearch(const Position& position, std::uint64_t max_nodes) : position_(position), max_nodes_(max_nodes) {}

    bool attacker_mates(int depth) {
        if (!spend_node()) return false;
        if (depth == 1) return mate_in_one(position_) != NO_MOVE;
        Proof& proof = proofs_[position_.key];
        if (proof.mates_within && proof.mates_within <= depth) return true;
        if (proof.fails_within >= depth) return false;
        const bool mates = any_check_mates(depth);
        // The table may have been rehashed meanwhile.
        if (!exhausted_) remember(depth, mates);
        return mates;
    }

    std::vector<Move> line(int depth) {
        std::vector<Move> moves;
        Undo undos[MAX_LINE];
        while (depth > 0) {
            const Move attack = mating_move(depth);
            position_.do_move(attack, undos[moves.size()]);
            moves.push_back(attack);
            if (--depth == 0) break;
            const Move defence = longest_defence(depth);
            position_.do_move(defence, undos[moves.size()]);
            moves.push_back(defence);
            depth = shortest_mate(depth - 1);
        }
        for (std::size_t i = moves.size(); i-- > 0;) position_.undo_move(moves[i], undos[i]);
        return moves;
    }

    bool exhausted() const { return exhausted_; }
    std::uint64_t nodes() const { return nodes_; }

    static constexpr int MAX_LINE = 64;

private:
    struct Proof {
        int mates_within = 0;  // 0: no mate known
        int fails_within = 0;
    };

    bool spend_node() {
        if (++nodes_ > max_nodes_) exhausted_ = true;
        return !exhausted_;
    }

    void remember(int depth, bool mates) {
        Proof& proof = proofs_[position_.key];
        if (mates) {
            proof.mates_within = proof.mates_within ? std::min(proof.mates_within, depth) : depth;
        } else {
            proof.fails_within = std::max(proof.fails_within, depth);
        }
    }

    bool any_check_mates(int depth) {
        MoveList checks;
        generate_checks(position_, checks);
        Undo undo;
        for (const Move move : checks) {
            position_.do_move(move, undo);
            const bool mates = defender_is_mated(depth - 1);
            position_.undo_move(move, undo);
            if (mates) return true;
            if (exhausted_) return false;
        }
        return false;
    }

    // True when every defence loses within depth plies. A mated defender has no defence.
    bool defender_is_mated(int depth) {
        MoveList list;
        generate_moves(position_, list);
        Undo undo;
        for (const Move move : list) {
            position_.do_move(move, undo);
            const bool mated = depth >= 2 && attacker_mates(depth - 1);
            position_.undo_move(move, undo);
            if (!mated) return false;
        }
        return true;
    }

    Move mating_move(int depth) {
        if (depth == 1) return mate_in_one(position_);
        MoveList checks;
        generate_checks(position_, checks);
        Undo undo;
        for (const Move move : checks) {
            position_.do_move(move, undo);
            const bool mates = defender_is_mated(depth - 1);
            position_.undo_move(move, undo);
            if (mates) return move;
        }
        return NO_MOVE;
    }

    Move longest_defence(int depth) {
        MoveList list;
        generate_moves(position_, list);
        Move best = NO_MOVE;
        int longest = 0;
        Undo undo;
        for (const Move move : list) {
            position_.do_move(move, undo);
            const int length = shortest_mate(depth - 1);
            position_.undo_move(move, undo);
            if (length > longest) {
                longest = length;
                best = move;
            }
        }
        return best;
    }

    // The mate must exist within the depth.
    int shortest_mate(int depth) {
        for (int length = 1; length < depth; length += 2) {
            if (attacker_mates(length)) return length;
        }
        return depth;
    }

    Position position_;
    std::uint64_t max_nodes_;
    std::uint64_t nodes_ = 0;
    bool exhausted_ = false;
    std::unordered_map<std::uint64_t, Proof> proofs_;
};

}  // namespace

void generate_checks(const Position& position, MoveList& list) {
    const CheckFinder checks(position);
    generate_into<CheckSink>(position, list.size, checks, list.moves);
}

Move mate_in_one(const Position& position) {
    MoveList checks;
    generate_checks(position, checks);
    if (checks.size == 0) return NO_MOVE;
    Position after = position;
    Undo undo;
    for (const Move move : checks) {
        after.do_move(move, undo);
        const bool mate = !has_legal_move(after);
        after.undo_move(move, undo);
        if (mate) return move;
    }
    return NO_MOVE;
}

std::vector<Move> moves_without_mating_reply(const Position& position) {
    MoveList list;
    generate_moves(position, list);
    std::vector<Move> safe;
    Position after = position;
    Undo undo;
    for (const Move move : list) {
        after.do_move(move, undo);
        if (mate_in_one(after) == NO_MOVE) safe.push_back(move);
        after.undo_move(move, undo);
    }
    if (safe.empty()) safe.assign(list.begin(), list.end());
    return safe;
}

MateResult find_mate(const Position& position, int max_plies, std::uint64_t max_nodes) {
    MateSearch search(position, max_nodes);
    MateResult result;
    const int deepest = std::min(max_plies, MateSearch::MAX_LINE - 1);
    for (int depth = 1; depth <= deepest; depth += 2) {
        if (search.attacker_mates(depth)) {
            // The line walks proven positions again: it must not run out of nodes.
            MateSearch walker(position, ~std::uint64_t{0});
            walker.attacker_mates(depth);
            result.verdict = MateVerdict::MATE;
            result.line = walker.line(depth);
            break;
        }
        if (search.exhausted()) {
            result.verdict = MateVerdict::UNKNOWN;
            break;
        }
    }
    result.nodes = search.nodes();
    return result;
}

}  // namespace keisei
