#include "perft.hpp"

#include "movegen.hpp"

namespace keisei {

std::uint64_t perft(Position& position, int depth) {
    if (depth <= 0) return 1;
    if (depth == 1) return static_cast<std::uint64_t>(count_moves(position));
    MoveList list;
    generate_moves(position, list);
    std::uint64_t nodes = 0;
    Undo undo;
    for (const Move move : list) {
        position.do_move(move, undo);
        nodes += perft(position, depth - 1);
        position.undo_move(move, undo);
    }
    return nodes;
}

}  // namespace keisei
