#include "observation.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace keisei {
namespace {

constexpr float PLY_UNITS = 255.0F;

// Calls visit(square, code) for every occupied square, eight squares at a time.
template <class Visitor>
inline void for_each_piece(const std::uint8_t* record, Visitor visit) {
    constexpr int WORD = 8;
    constexpr int LAST = SQUARES / WORD * WORD;
    for (int base = 0; base < LAST; base += WORD) {
        std::uint64_t word;
        std::memcpy(&word, record + base, WORD);
        while (word) {
            const int byte =
                std::endian::native == std::endian::little ? std::countr_zero(word) / 8 : std::countl_zero(word) / 8;
            const int square = base + byte;
            const int shift = std::endian::native == std::endian::little ? byte * 8 : (WORD - 1 - byte) * 8;
            word &= ~(std::uint64_t{0xff} << shift);
            visit(square, record[square]);
        }
    }
    if (record[LAST] != NO_PIECE) visit(LAST, record[LAST]);
}

// The hand counts of both sides in plane order.
inline void hand_counts(const std::uint8_t* record, std::uint8_t* counts) {
    for (int side = 0; side < 2; ++side) {
        const std::uint8_t* in = record + RECORD_HANDS + 4 * side;
        std::uint8_t* out = counts + HAND_TYPES * side;
        out[PAWN] = in[0];
        out[LANCE] = in[1] & 15;
        out[KNIGHT] = static_cast<std::uint8_t>(in[1] >> 4);
        out[SILVER] = in[2] & 15;
        out[GOLD] = static_cast<std::uint8_t>(in[2] >> 4);
        out[BISHOP] = in[3] & 15;
        out[ROOK] = static_cast<std::uint8_t>(in[3] >> 4);
    }
}

inline float ply_share(const std::uint8_t* record) {
    const int ply = record[RECORD_PLY] | record[RECORD_PLY + 1] << 8;
    const int cap = record[RECORD_CAP] | record[RECORD_CAP + 1] << 8;
    return cap == 0 ? 0.0F : std::min(1.0F, static_cast<float>(ply) / static_cast<float>(cap));
}

// The constant planes HAND_PLANE.. in uint8 units.
inline void scalar_units(const std::uint8_t* record, std::uint8_t* units) {
    hand_counts(record, units);
    const std::uint8_t flags = record[RECORD_FLAGS];
    units[TURN_PLANE - HAND_PLANE] = (flags & 1) == 0;
    units[PLY_PLANE - HAND_PLANE] = static_cast<std::uint8_t>(ply_share(record) * PLY_UNITS + 0.5F);
    units[OCCURRENCE_PLANE - HAND_PLANE] = flags >> 2 & MAX_EARLIER_OCCURRENCES;
    units[CHECK_PLANE - HAND_PLANE] = flags >> 1 & 1;
}

inline void scalar_values(const std::uint8_t* record, float* values) {
    std::uint8_t units[SCALAR_PLANES];
    scalar_units(record, units);
    for (int i = 0; i < SCALAR_PLANES; ++i) values[i] = static_cast<float>(units[i]) * PLANE_SCALE[HAND_PLANE + i];
    values[PLY_PLANE - HAND_PLANE] = ply_share(record);
}

// Byte codes above the last piece come only from damaged records; they are drawn nowhere.
inline bool is_piece_code(std::uint8_t code) { return code < PIECE_CODES; }

}  // namespace

const float PLANE_SCALE[PLANES] = {
    1,        1,        1,         1,        1,        1,        1,         1,        1,        1,        1,
    1,        1,        1,         1,        1,        1,        1,         1,        1,        1,        1,
    1,        1,        1,         1,        1,        1,        1.0F / 18, 1.0F / 4, 1.0F / 4, 1.0F / 4, 1.0F / 4,
    1.0F / 2, 1.0F / 2, 1.0F / 18, 1.0F / 4, 1.0F / 4, 1.0F / 4, 1.0F / 4,  1.0F / 2, 1.0F / 2, 1,        1 / PLY_UNITS,
    1.0F / 3, 1};

void unpack_planes(const std::uint8_t* record, std::uint8_t* out) {
    std::memset(out, 0, PLANES * SQUARES);
    for_each_piece(record, [out](int square, std::uint8_t code) {
        if (is_piece_code(code)) out[(code - 1) * SQUARES + square] = 1;
    });
    std::uint8_t units[SCALAR_PLANES];
    scalar_units(record, units);
    for (int i = 0; i < SCALAR_PLANES; ++i) {
        if (units[i]) std::memset(out + (HAND_PLANE + i) * SQUARES, units[i], SQUARES);
    }
}

void unpack_planes(const std::uint8_t* record, float* out) {
    std::fill_n(out, PIECE_PLANES * SQUARES, 0.0F);
    for_each_piece(record, [out](int square, std::uint8_t code) {
        if (is_piece_code(code)) out[(code - 1) * SQUARES + square] = 1.0F;
    });
    float values[SCALAR_PLANES];
    scalar_values(record, values);
    for (int i = 0; i < SCALAR_PLANES; ++i) std::fill_n(out + (HAND_PLANE + i) * SQUARES, SQUARES, values[i]);
}

void unpack_bits(const std::uint8_t* record, std::uint64_t* bits, float* scalars) {
    std::memset(bits, 0, PIECE_PLANES * 2 * sizeof(std::uint64_t));
    for_each_piece(record, [bits](int square, std::uint8_t code) {
        if (is_piece_code(code)) bits[(code - 1) * 2 + square / 64] |= std::uint64_t{1} << square % 64;
    });
    scalar_values(record, scalars);
}

}  // namespace keisei
