#include "attacks.hpp"

namespace keisei {
namespace {

struct Step {
    int row;
    int column;
};

constexpr Step GOLD_STEPS[] = {{-1, -1}, {-1, 0}, {-1, 1}, {0, -1}, {0, 1}, {1, 0}};
constexpr Step SILVER_STEPS[] = {{-1, -1}, {-1, 0}, {-1, 1}, {1, -1}, {1, 1}};
constexpr Step KNIGHT_STEPS[] = {{-2, -1}, {-2, 1}};
constexpr Step PAWN_STEPS[] = {{-1, 0}};
constexpr Step ORTHOGONAL_STEPS[] = {{-1, 0}, {0, -1}, {0, 1}, {1, 0}};
constexpr Step DIAGONAL_STEPS[] = {{-1, -1}, {-1, 1}, {1, -1}, {1, 1}};

constexpr bool on_board(int row, int column) {
    return row >= 0 && row < BOARD_SIDE && column >= 0 && column < BOARD_SIDE;
}

template <std::size_t N>
Bitboard black_steps(int square, const Step (&steps)[N]) {
    Bitboard set;
    for (const Step& step : steps) {
        const int row = row_of(square) + step.row;
        const int column = column_of(square) + step.column;
        if (on_board(row, column)) set |= Bitboard::of(row * BOARD_SIDE + column);
    }
    return set;
}

Bitboard black_steps_of(PieceType type, int square) {
    switch (type) {
        case PAWN:
            return black_steps(square, PAWN_STEPS);
        case KNIGHT:
            return black_steps(square, KNIGHT_STEPS);
        case SILVER:
            return black_steps(square, SILVER_STEPS);
        case GOLD:
        case PRO_PAWN:
        case PRO_LANCE:
        case PRO_KNIGHT:
        case PRO_SILVER:
            return black_steps(square, GOLD_STEPS);
        case KING:
            return black_steps(square, ORTHOGONAL_STEPS) | black_steps(square, DIAGONAL_STEPS);
        case HORSE:
            return black_steps(square, ORTHOGONAL_STEPS);
        case DRAGON:
            return black_steps(square, DIAGONAL_STEPS);
        default:
            return {};
    }
}

Bitboard rotated_set(Bitboard set) {
    Bitboard result;
    while (set) result |= Bitboard::of(rotated(set.pop()));
    return result;
}

Bitboard ray(int square, int row_step, int column_step) {
    Bitboard set;
    int row = row_of(square) + row_step;
    int column = column_of(square) + column_step;
    for (; on_board(row, column); row += row_step, column += column_step) {
        set |= Bitboard::of(row * BOARD_SIDE + column);
    }
    return set;
}

void fill_between(AttackTables& tables, int square, int row_step, int column_step) {
    const Bitboard whole =
        ray(square, row_step, column_step) | ray(square, -row_step, -column_step) | Bitboard::of(square);
    Bitboard passed;
    int row = row_of(square) + row_step;
    int column = column_of(square) + column_step;
    for (; on_board(row, column); row += row_step, column += column_step) {
        const int target = row * BOARD_SIDE + column;
        tables.between[square][target] = passed;
        tables.through[square][target] = whole;
        passed |= Bitboard::of(target);
    }
}

AttackTables make_tables() {
    AttackTables tables{};
    for (int square = 0; square < SQUARES; ++square) {
        for (int type = 0; type < PIECE_TYPES; ++type) {
            const auto piece_type = static_cast<PieceType>(type);
            tables.step[BLACK][type][square] = black_steps_of(piece_type, square);
            tables.step[WHITE][type][square] = rotated_set(black_steps_of(piece_type, rotated(square)));
        }
        tables.column[square] = {ray(square, -1, 0), ray(square, 1, 0)};
        tables.row[square] = {ray(square, 0, -1), ray(square, 0, 1)};
        tables.diagonal[square] = {ray(square, -1, -1), ray(square, 1, 1)};
        tables.anti_diagonal[square] = {ray(square, -1, 1), ray(square, 1, -1)};
        for (const Line* line : {&tables.column[square], &tables.row[square]}) {
            tables.rook_rays[square] |= line->below | line->above;
        }
        for (const Line* line : {&tables.diagonal[square], &tables.anti_diagonal[square]}) {
            tables.bishop_rays[square] |= line->below | line->above;
        }
        for (int row_step = -1; row_step <= 1; ++row_step) {
            for (int column_step = -1; column_step <= 1; ++column_step) {
                if (row_step != 0 || column_step != 0) fill_between(tables, square, row_step, column_step);
            }
        }
    }
    return tables;
}

}  // namespace

const AttackTables ATTACKS = make_tables();

}  // namespace keisei
