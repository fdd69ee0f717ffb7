#include "movegen.hpp"

#include <utility>

#include "generator.hpp"

namespace keisei {
namespace {

template <Color Us>
class MoveSink {
public:
    explicit MoveSink(Move* out) : begin_(out), out_(out) {}

    void moves(int from, Bitboard targets) { write(board_move(from, 0), targets); }
    void promotions(int from, Bitboard targets) { write(board_move(from, 0) | PROMOTE_BIT, targets); }
    void pawn_moves(Bitboard targets, bool promote) {
        while (targets) {
            const int to = targets.pop();
            const Move move = board_move(Us == BLACK ? to + BOARD_SIDE : to - BOARD_SIDE, to);
            *out_++ = promote ? move | PROMOTE_BIT : move;
        }
    }
    void drops(int type, Bitboard targets) { write(drop_move(type, 0), targets); }
    int size() const { return static_cast<int>(out_ - begin_); }

private:
    void write(int base, Bitboard targets) {
        while (targets) *out_++ = static_cast<Move>(base | targets.pop());
    }

    Move* begin_;
    Move* out_;
};

template <Color>
class CountSink {
public:
    void moves(int, Bitboard targets) { count_ += targets.count(); }
    void promotions(int, Bitboard targets) { count_ += targets.count(); }
    void pawn_moves(Bitboard targets, bool) { count_ += targets.count(); }
    void drops(int, Bitboard targets) { count_ += targets.count(); }
    int size() const { return count_; }

private:
    int count_ = 0;
};

}  // namespace

void generate_moves(const Position& position, MoveList& list) {
    generate_into<MoveSink>(position, list.size, list.moves);
}

int count_moves(const Position& position) {
    int count = 0;
    generate_into<CountSink>(position, count);
    return count;
}

bool has_legal_move(const Position& position) { return count_moves(position) != 0; }

bool is_drop_pawn_mate(const Position& position, int square) {
    return position.turn == BLACK ? drop_pawn_mates<BLACK>(position, square) : drop_pawn_mates<WHITE>(position, square);
}

}  // namespace keisei
