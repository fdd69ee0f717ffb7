#include "search.hpp"

#include <algorithm>
#include <memory>

#include "exchange.hpp"
#include "movegen.hpp"

namespace keisei {
namespace {

constexpr int INFINITE_SCORE = 32000;
constexpr int DRAW_SCORE = 0;
constexpr int MAX_SEARCH_PLY = 64;
constexpr int QUIESCENCE_PLIES = 6;
constexpr std::size_t TABLE_SIZE = 1 << 15;
constexpr std::uint64_t NOISE_CENTIPAWNS = 8;  // evaluation noise by seed: less than any real difference

// Worth of a square by row in the owner's view, row 0 the far side: pieces that attack gain by advancing, ...
constexpr int ADVANCE[BOARD_SIDE] = {12, 14, 16, 14, 10, 6, 2, 0, 0};
// ... and the king by staying home.
constexpr int KING_ROW[BOARD_SIDE] = {-60, -60, -55, -50, -45, -35, -20, 0, 10};
constexpr int GUARD_BONUS = 12;  // for each own piece beside the king

int placement(const Position& position, Color color) {
    int score = 0;
    for (Bitboard set = position.occupied[color].without(position.group[KING]); set;) {
        score += ADVANCE[row_of(in_view(color, set.pop()))];
    }
    const int king = position.king[color];
    const Bitboard guards = ATTACKS.step[color][KING][king] & position.occupied[color];
    return score + KING_ROW[row_of(in_view(color, king))] + GUARD_BONUS * guards.count();
}

enum class Bound : std::uint8_t { NONE, LOWER, UPPER, EXACT };

struct Entry {
    std::uint64_t key = 0;
    Move move = NO_MOVE;
    std::int16_t score = 0;
    std::int8_t depth = 0;
    Bound bound = Bound::NONE;
};

struct ScoredMoves {
    MoveList list;
    int score[MAX_LEGAL_MOVES];

    // Brings the best of the moves from `at` on to `at`.
    Move pick(int at) {
        const int best = static_cast<int>(std::max_element(score + at, score + list.size) - score);
        std::swap(score[at], score[best]);
        std::swap(list.moves[at], list.moves[best]);
        return list.moves[at];
    }
};

// Mates are stored relative to the position, not to the root.
int to_table(int score, int ply) {
    if (score > MATE_SCORE - MAX_SEARCH_PLY) return score + ply;
    return score < -MATE_SCORE + MAX_SEARCH_PLY ? score - ply : score;
}
int from_table(int score, int ply) {
    if (score > MATE_SCORE - MAX_SEARCH_PLY) return score - ply;
    return score < -MATE_SCORE + MAX_SEARCH_PLY ? score + ply : score;
}

class Searcher {
public:
    Searcher(const Position& position, const SearchLimits& limits, const std::vector<std::uint64_t>& earlier)
        : position_(position), seed_(limits.seed), path_(earlier), table_(new Entry[TABLE_SIZE]) {}

    SearchResult run(int depth) {
        SearchResult result;
        for (int d = 1; d <= depth; ++d) {
            result.score = search(d, -INFINITE_SCORE, INFINITE_SCORE, 0);
            result.best = root_move_;
        }
        result.nodes = nodes_;
        return result;
    }

private:
    int search(int depth, int alpha, int beta, int ply) {
        if (depth <= 0) return quiescence(QUIESCENCE_PLIES, alpha, beta, ply);
        ++nodes_;
        if (ply > 0 && repeats()) return DRAW_SCORE;
        Entry& entry = table_[position_.key % TABLE_SIZE];
        const bool known = entry.key == position_.key && entry.bound != Bound::NONE;
        if (known && ply > 0 && entry.depth >= depth && cuts(entry, alpha, beta, ply)) {
            return from_table(entry.score, ply);
        }
        ScoredMoves moves;
        generate_moves(position_, moves.list);
        if (moves.list.size == 0) return -MATE_SCORE + ply;
        order(moves, known ? entry.move : NO_MOVE);
        const int original_alpha = alpha;
        int best = -INFINITE_SCORE;
        Move best_move = NO_MOVE;
        for (int i = 0; i < moves.list.size && alpha < beta; ++i) {
            const Move move = moves.pick(i);
            const int score = after(move, [&] { return -search(depth - 1, -beta, -alpha, ply + 1); });
            if (score > best) {
                best = score;
                best_move = move;
            }
            alpha = std::max(alpha, score);
        }
        if (ply == 0) root_move_ = best_move;
        if (best >= beta) reward(best_move, depth);
        const Bound bound = best >= beta ? Bound::LOWER : best > original_alpha ? Bound::EXACT : Bound::UPPER;
        table_[position_.key % TABLE_SIZE] = {position_.key, best_move, static_cast<std::int16_t>(to_table(best, ply)),
                                              static_cast<std::int8_t>(depth), bound};
        return best;
    }

    // Only captures and promotions, or evasions when in check, until the position is quiet.
    int quiescence(int depth, int alpha, int beta, int ply) {
        ++nodes_;
        const bool checked = in_check(position_, position_.turn);
        if (!checked || depth <= 0) {
            const int quiet = evaluate(position_) + noise();
            if (quiet >= beta || depth <= 0) return quiet;
            alpha = std::max(alpha, quiet);
        }
        ScoredMoves moves;
        generate_moves(position_, moves.list);
        if (moves.list.size == 0) return -MATE_SCORE + ply;
        if (!checked) keep_noisy(moves.list);
        order(moves, NO_MOVE);
        int best = checked ? -INFINITE_SCORE : alpha;
        for (int i = 0; i < moves.list.size && alpha < beta; ++i) {
            const Move move = moves.pick(i);
            if (!checked && static_exchange(position_, move) <= 0) continue;
            const int score = after(move, [&] { return -quiescence(depth - 1, -beta, -alpha, ply + 1); });
            best = std::max(best, score);
            alpha = std::max(alpha, score);
        }
        return best;
    }

    template <class Continue>
    int after(Move move, Continue go_on) {
        Undo undo;
        path_.push_back(position_.key);
        position_.do_move(move, undo);
        const int score = go_on();
        position_.undo_move(move, undo);
        path_.pop_back();
        return score;
    }

    bool repeats() const { return std::find(path_.begin(), path_.end(), position_.key) != path_.end(); }

    static bool cuts(const Entry& entry, int alpha, int beta, int ply) {
        const int score = from_table(entry.score, ply);
        if (entry.bound == Bound::EXACT) return true;
        return entry.bound == Bound::LOWER ? score >= beta : score <= alpha;
    }

    void keep_noisy(MoveList& list) const {
        const auto end = std::remove_if(list.moves, list.moves + list.size, [this](Move move) {
            return is_drop(move) || (!is_promotion(move) && position_.at(move_to(move)) == NO_PIECE);
        });
        list.size = static_cast<int>(end - list.moves);
    }

    // The table's move first, then captures by what they win for what they risk, then what has cut before.
    void order(ScoredMoves& moves, Move first) const {
        constexpr int FIRST = 1 << 28;
        constexpr int CAPTURE = 1 << 24;
        for (int i = 0; i < moves.list.size; ++i) {
            const Move move = moves.list.moves[i];
            int score = history_[move & HISTORY_MASK];
            if (move == first) {
                score = FIRST;
            } else if (!is_drop(move)) {
                const Piece captured = position_.at(move_to(move));
                const int risked = PIECE_VALUE[type_of(position_.at(move_from(move)))] / 16;
                if (captured != NO_PIECE) score = CAPTURE + PIECE_VALUE[type_of(captured)] * 8 - risked;
                if (is_promotion(move)) score += CAPTURE / 2;
            }
            moves.score[i] = score;
        }
    }

    void reward(Move move, int depth) {
        int& worth = history_[move & HISTORY_MASK];
        worth = std::min(worth + depth * depth, (1 << 23) - 1);
    }

    // The same for a position however it is reached, so that the search stays sound.
    int noise() const {
        std::uint64_t state = position_.key ^ seed_;
        return seed_ == 0 ? 0 : static_cast<int>(split_mix(state) % (NOISE_CENTIPAWNS + 1));
    }

    static constexpr int HISTORY_MASK = PROMOTE_BIT - 1;

    Position position_;
    std::uint64_t seed_;
    std::vector<std::uint64_t> path_;
    std::unique_ptr<Entry[]> table_;
    std::vector<int> history_ = std::vector<int>(HISTORY_MASK + 1);
    std::uint64_t nodes_ = 0;
    Move root_move_ = NO_MOVE;
};

}  // namespace

int evaluate(const Position& position) {
    const Color us = position.turn;
    return material(position, us) + placement(position, us) - placement(position, ~us);
}

SearchResult search(const Position& position, const SearchLimits& limits, const std::vector<std::uint64_t>& earlier) {
    return Searcher(position, limits, earlier).run(limits.depth);
}

}  // namespace keisei
