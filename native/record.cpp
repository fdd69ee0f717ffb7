#include "record.hpp"

#include <algorithm>
#include <cstring>

#include "sfen.hpp"

namespace keisei {
namespace {

constexpr int HAND_BYTES = 4;
constexpr std::uint8_t FLAG_WHITE = 1;
constexpr std::uint8_t FLAG_CHECK = 2;
constexpr int OCCURRENCE_SHIFT = 2;

void pack_hand(const Hand& hand, std::uint8_t* out) {
    const auto pair = [&](int low, int high) {
        return static_cast<std::uint8_t>(hand.count(low) | hand.count(high) << 4);
    };
    out[0] = static_cast<std::uint8_t>(hand.count(PAWN));
    out[1] = pair(LANCE, KNIGHT);
    out[2] = pair(SILVER, GOLD);
    out[3] = pair(BISHOP, ROOK);
}

// False when a count is more than a set has.
bool unpack_hand(const std::uint8_t* in, Hand& hand) {
    const int counts[HAND_TYPES] = {in[0], in[1] & 15, in[1] >> 4, in[2] & 15, in[2] >> 4, in[3] & 15, in[3] >> 4};
    for (int type = 0; type < HAND_TYPES; ++type) {
        if (counts[type] > PIECES_IN_SET[static_cast<std::size_t>(type)]) return false;
        hand.add(type, counts[type]);
    }
    return true;
}

// More pieces than a set has could have more legal moves than any list has room for.
bool fits_one_set(const Position& position) {
    int counts[HAND_TYPES] = {};
    for (Bitboard set = position.all().without(position.group[KING]); set;) {
        ++counts[unpromoted(type_of(position.at(set.pop())))];
    }
    for (int type = 0; type < HAND_TYPES; ++type) {
        const int held = position.hand[BLACK].count(type) + position.hand[WHITE].count(type);
        if (counts[type] + held > PIECES_IN_SET[static_cast<std::size_t>(type)]) return false;
    }
    return true;
}

void write_u16(std::uint8_t* out, std::uint16_t value) {
    out[0] = static_cast<std::uint8_t>(value & 0xff);
    out[1] = static_cast<std::uint8_t>(value >> 8);
}

std::uint16_t read_u16(const std::uint8_t* in) { return static_cast<std::uint16_t>(in[0] | in[1] << 8); }

// Board, hands and ply, however impossible; false when there is nothing to read.
bool read_fields(const std::uint8_t* record, Position& position) {
    position = Position{};
    const Color us = record[RECORD_FLAGS] & FLAG_WHITE ? WHITE : BLACK;
    position.turn = us;
    for (int seen = 0; seen < SQUARES; ++seen) {
        const Piece code = record[seen];
        if (code == NO_PIECE) continue;
        if (code >= PIECE_CODES) return false;
        const Piece piece = us == BLACK ? code : swap_color(code);
        if (type_of(piece) == KING && position.king[color_of(piece)] != NO_SQUARE) return false;
        position.put(color_of(piece), type_of(piece), in_view(us, seen));
    }
    position.ply = read_u16(record + RECORD_PLY);
    return position.king[BLACK] != NO_SQUARE && position.king[WHITE] != NO_SQUARE &&
           unpack_hand(record + RECORD_HANDS, position.hand[us]) &&
           unpack_hand(record + RECORD_HANDS + HAND_BYTES, position.hand[~us]);
}

}  // namespace

void pack_record(const Position& position, const RecordContext& context, std::uint8_t* out) {
    const Color us = position.turn;
    std::memcpy(out, position.view[us], SQUARES);
    pack_hand(position.hand[us], out + RECORD_HANDS);
    pack_hand(position.hand[~us], out + RECORD_HANDS + HAND_BYTES);
    const int occurrences = std::min(context.earlier_occurrences, MAX_EARLIER_OCCURRENCES);
    out[RECORD_FLAGS] = static_cast<std::uint8_t>((us == WHITE ? FLAG_WHITE : 0) | (context.in_check ? FLAG_CHECK : 0) |
                                                  occurrences << OCCURRENCE_SHIFT);
    write_u16(out + RECORD_PLY, position.ply);
    write_u16(out + RECORD_CAP, context.max_plies);
    write_u16(out + RECORD_CAP + 2, 0);
}

bool read_trusted_record(const std::uint8_t* record, Position& position) {
    return read_fields(record, position) && fits_one_set(position);
}

Position unpack_record(const std::uint8_t* record, RecordContext& context) {
    Position position;
    if (!read_fields(record, position)) {
        throw SfenError("invalid packed position: a byte is out of range or a king is missing");
    }
    if (position.ply > MAX_PLY) throw SfenError("invalid packed position: the ply is out of range");
    // The SFEN reader is the one judge of what a possible position is.
    const Position proven = parse_sfen(format_sfen(position));
    const std::uint8_t flags = record[RECORD_FLAGS];
    context.in_check = (flags & FLAG_CHECK) != 0;
    context.earlier_occurrences = flags >> OCCURRENCE_SHIFT & MAX_EARLIER_OCCURRENCES;
    context.max_plies = std::min<std::uint16_t>(read_u16(record + RECORD_CAP), MAX_PLY);
    return proven;
}

void mirror_record(const std::uint8_t* record, std::uint8_t* out) {
    for (int square = 0; square < SQUARES; ++square) out[mirrored(square)] = record[square];
    std::memcpy(out + SQUARES, record + SQUARES, RECORD_BYTES - SQUARES);
}

}  // namespace keisei
