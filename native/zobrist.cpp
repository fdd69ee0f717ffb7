#include "zobrist.hpp"

namespace keisei {
namespace {

constexpr std::uint64_t ZOBRIST_SEED = 0x6b65697365690001ULL;

ZobristTables make_tables() {
    ZobristTables tables{};
    std::uint64_t state = ZOBRIST_SEED;
    for (int code = 1; code < PIECE_CODES; ++code) {
        for (auto& number : tables.piece[code]) number = split_mix(state);
    }
    for (auto& color : tables.hand) {
        for (auto& type : color) {
            for (int count = 1; count <= MAX_IN_HAND; ++count) type[count] = split_mix(state);
        }
    }
    tables.white_to_move = split_mix(state);
    return tables;
}

}  // namespace

const ZobristTables ZOBRIST = make_tables();

}  // namespace keisei
