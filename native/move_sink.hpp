// A sink of the generator that writes the moves one behind the other.
#pragma once

#include "generator.hpp"

namespace keisei {

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

}  // namespace keisei
