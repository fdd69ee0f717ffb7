// Writing the members of a square set as 16-bit numbers, in ascending order of squares.
#pragma once

#include <cstdint>

#include "bitboard.hpp"

#if defined(__AVX512VBMI2__) && defined(__AVX512BW__)
#define KEISEI_EXPAND_AVX512 1
#include <immintrin.h>
#endif

namespace keisei {

// A write may touch this many entries past the last one it counts.
constexpr int EXPAND_SLACK = 64;

#if KEISEI_EXPAND_AVX512

// Compresses the table entries of the set's squares to `out`. The table has 96 entries.
inline std::uint16_t* expand_table(Bitboard set, const std::uint16_t* table, std::uint16_t add, std::uint16_t* out) {
    const __m512i offset = _mm512_set1_epi16(static_cast<short>(add));
    const auto part = [&](std::uint32_t mask, int at) {
        const __m512i values = _mm512_add_epi16(_mm512_loadu_si512(table + at), offset);
        _mm512_storeu_si512(out, _mm512_maskz_compress_epi16(mask, values));
        out += std::popcount(mask);
    };
    part(static_cast<std::uint32_t>(set.lo), 0);
    part(static_cast<std::uint32_t>(set.lo >> 32), 32);
    part(static_cast<std::uint32_t>(set.hi), 64);
    return out;
}

#else

inline std::uint16_t* expand_table(Bitboard set, const std::uint16_t* table, std::uint16_t add, std::uint16_t* out) {
    while (set) *out++ = static_cast<std::uint16_t>(table[set.pop()] + add);
    return out;
}

#endif

}  // namespace keisei
