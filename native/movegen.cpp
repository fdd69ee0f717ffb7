#include "movegen.hpp"

#include <utility>

#include "move_sink.hpp"

namespace keisei {
namespace {

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

// Whether there is a move; one that the king has is enough to know.
template <Color Us>
class AnySink : public CountSink<Us> {
public:
    bool is_satisfied() const { return this->size() != 0; }
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

bool has_legal_move(const Position& position) {
    int found = 0;
    generate_into<AnySink>(position, found);
    return found != 0;
}

bool is_drop_pawn_mate(const Position& position, int square) {
    return position.turn == BLACK ? drop_pawn_mates<BLACK>(position, square) : drop_pawn_mates<WHITE>(position, square);
}

}  // namespace keisei
