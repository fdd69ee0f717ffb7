#include "action.hpp"

#include "expand.hpp"
#include "generator.hpp"

static_assert(keisei::ACTION_LIST_SIZE >= keisei::MAX_LEGAL_MOVES + keisei::EXPAND_SLACK);

namespace keisei {
namespace {

constexpr int FULL_DROPS = SQUARES * (SQUARES - 1) * 2;
constexpr int FULL_PER_ORIGIN = (SQUARES - 1) * 2;
constexpr int TABLE_WIDTH = 96;  // 81 squares, padded for vector loads

struct StepVector {
    int row;
    int column;
};
constexpr StepVector STEPS[DIRECTIONS] = {{-1, 0}, {-1, -1}, {-1, 1}, {0, -1},  {0, 1},
                                          {1, 0},  {1, -1},  {1, 1},  {-2, -1}, {-2, 1}};

int direction_between(int from, int to) {
    const int rows = row_of(to) - row_of(from);
    const int columns = column_of(to) - column_of(from);
    for (int d = JUMP_LEFT; d <= JUMP_RIGHT; ++d) {
        if (rows == STEPS[d].row && columns == STEPS[d].column) return d;
    }
    if (rows != 0 && columns != 0 && rows != columns && rows != -columns) return -1;
    const int row_step = (rows > 0) - (rows < 0);
    const int column_step = (columns > 0) - (columns < 0);
    for (int d = UP; d <= DOWN_RIGHT; ++d) {
        if (row_step == STEPS[d].row && column_step == STEPS[d].column) return d;
    }
    return -1;
}

constexpr int full_board_index(int from, int to) { return from * FULL_PER_ORIGIN + (to - (to > from)) * 2; }

// Indices without promotion by absolute squares, for each mover; squares are turned into the mover's view here.
struct IndexTables {
    std::uint16_t compact[2][SQUARES][TABLE_WIDTH];
    std::uint16_t compact_to[2][TABLE_WIDTH];  // the destination alone
    std::uint16_t full[2][SQUARES][TABLE_WIDTH];
    std::uint16_t full_drop[2][TABLE_WIDTH];
};

IndexTables make_tables() {
    IndexTables tables{};
    for (const Color mover : {BLACK, WHITE}) {
        for (int to = 0; to < SQUARES; ++to) {
            const int seen_to = in_view(mover, to);
            tables.compact_to[mover][to] = static_cast<std::uint16_t>(seen_to);
            tables.full_drop[mover][to] = static_cast<std::uint16_t>(FULL_DROPS + seen_to * HAND_TYPES);
            for (int from = 0; from < SQUARES; ++from) {
                const int seen_from = in_view(mover, from);
                const int direction = from == to ? -1 : direction_between(seen_from, seen_to);
                tables.compact[mover][from][to] =
                    direction < 0 ? NO_ACTION : static_cast<std::uint16_t>(direction * SQUARES + seen_to);
                tables.full[mover][from][to] = static_cast<std::uint16_t>(full_board_index(seen_from, seen_to));
            }
        }
    }
    return tables;
}

const IndexTables TABLES = make_tables();

template <Color Us>
class CompactSink {
public:
    explicit CompactSink(std::uint16_t* out) : begin_(out), out_(out) {}

    void moves(int from, Bitboard to) { out_ = expand_table(to, TABLES.compact[Us][from], 0, out_); }
    void promotions(int from, Bitboard to) {
        if (to) out_ = expand_table(to, TABLES.compact[Us][from], PROMOTION_PLANES * SQUARES, out_);
    }
    void pawn_moves(Bitboard to, bool promote) {
        if (to) out_ = expand_table(to, TABLES.compact_to[Us], promote ? PROMOTION_PLANES * SQUARES : 0, out_);
    }
    void drops(int type, Bitboard to) {
        out_ =
            expand_table(to, TABLES.compact_to[Us], static_cast<std::uint16_t>((DROP_PLANES + type) * SQUARES), out_);
    }
    int size() const { return static_cast<int>(out_ - begin_); }

private:
    std::uint16_t* begin_;
    std::uint16_t* out_;
};

template <Color Us>
class FullSink {
public:
    explicit FullSink(std::uint16_t* out) : begin_(out), out_(out) {}

    void moves(int from, Bitboard to) { out_ = expand_table(to, TABLES.full[Us][from], 0, out_); }
    void promotions(int from, Bitboard to) {
        if (to) out_ = expand_table(to, TABLES.full[Us][from], 1, out_);
    }
    void pawn_moves(Bitboard to, bool promote) {
        while (to) {
            const int square = to.pop();
            const int from = Us == BLACK ? square + BOARD_SIDE : square - BOARD_SIDE;
            *out_++ = static_cast<std::uint16_t>(TABLES.full[Us][from][square] + promote);
        }
    }
    void drops(int type, Bitboard to) {
        out_ = expand_table(to, TABLES.full_drop[Us], static_cast<std::uint16_t>(type), out_);
    }
    int size() const { return static_cast<int>(out_ - begin_); }

private:
    std::uint16_t* begin_;
    std::uint16_t* out_;
};

Move compact_move(int action, const Position& position) {
    const Color us = position.turn;
    const int plane = action / SQUARES;
    const int seen_to = action % SQUARES;
    const int to = in_view(us, seen_to);
    if (plane >= DROP_PLANES) return drop_move(plane - DROP_PLANES, to);
    const bool promote = plane >= PROMOTION_PLANES;
    const int direction = promote ? plane - PROMOTION_PLANES : plane;
    const StepVector step = STEPS[direction];
    // Walk back from the destination to the first piece: that is the one which moves.
    int row = row_of(seen_to) - step.row;
    int column = column_of(seen_to) - step.column;
    while (row >= 0 && row < BOARD_SIDE && column >= 0 && column < BOARD_SIDE) {
        const int square = row * BOARD_SIDE + column;
        if (position.view[us][square] != NO_PIECE) {
            const Move move = board_move(in_view(us, square), to);
            return promote ? static_cast<Move>(move | PROMOTE_BIT) : move;
        }
        if (direction >= JUMP_LEFT) break;
        row -= step.row;
        column -= step.column;
    }
    return NO_MOVE;
}

Move full_move(int action, Color us) {
    if (action >= FULL_DROPS) {
        const int drop = action - FULL_DROPS;
        return drop_move(drop % HAND_TYPES, in_view(us, drop / HAND_TYPES));
    }
    const int from = action / FULL_PER_ORIGIN;
    const int rest = action % FULL_PER_ORIGIN / 2;
    const int to = rest + (rest >= from);
    const Move move = board_move(in_view(us, from), in_view(us, to));
    return action % 2 ? static_cast<Move>(move | PROMOTE_BIT) : move;
}

}  // namespace

std::uint16_t action_of(ActionSpace space, Move move, Color mover) {
    const int to = move_to(move);
    if (space == ActionSpace::FULL) {
        if (is_drop(move)) return static_cast<std::uint16_t>(TABLES.full_drop[mover][to] + dropped_type(move));
        return static_cast<std::uint16_t>(TABLES.full[mover][move_from(move)][to] + is_promotion(move));
    }
    if (is_drop(move)) {
        return static_cast<std::uint16_t>((DROP_PLANES + dropped_type(move)) * SQUARES + TABLES.compact_to[mover][to]);
    }
    const std::uint16_t plain = TABLES.compact[mover][move_from(move)][to];
    if (plain == NO_ACTION) return NO_ACTION;
    return static_cast<std::uint16_t>(plain + (is_promotion(move) ? PROMOTION_PLANES * SQUARES : 0));
}

Move move_of(ActionSpace space, int action, const Position& position) {
    if (action < 0 || action >= action_count(space)) return NO_MOVE;
    return space == ActionSpace::FULL ? full_move(action, position.turn) : compact_move(action, position);
}

std::uint16_t mirrored_action(ActionSpace space, int action) {
    constexpr int MIRRORED_DIRECTION[DIRECTIONS] = {UP,   UP_RIGHT,   UP_LEFT,   RIGHT,      LEFT,
                                                    DOWN, DOWN_RIGHT, DOWN_LEFT, JUMP_RIGHT, JUMP_LEFT};
    if (space == ActionSpace::COMPACT) {
        const int plane = action / SQUARES;
        const int base = plane / DIRECTIONS * DIRECTIONS;
        const int mirrored_plane = plane >= DROP_PLANES ? plane : base + MIRRORED_DIRECTION[plane - base];
        return static_cast<std::uint16_t>(mirrored_plane * SQUARES + mirrored(action % SQUARES));
    }
    const Move move = full_move(action, BLACK);
    const int to = mirrored(move_to(move));
    const Move image = is_drop(move) ? drop_move(dropped_type(move), to) : board_move(mirrored(move_from(move)), to);
    return action_of(space, static_cast<Move>(image | (move & PROMOTE_BIT)), BLACK);
}

Bitboard generate_actions(const Position& position, ActionSpace space, std::uint16_t* out, int& count) {
    if (space == ActionSpace::FULL) return generate_into<FullSink>(position, count, out);
    return generate_into<CompactSink>(position, count, out);
}

}  // namespace keisei
