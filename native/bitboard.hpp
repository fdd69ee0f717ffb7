// A set of squares in 81 of 128 bits, square 0 in the lowest bit.
#pragma once

#include <bit>
#include <cstdint>

#include "types.hpp"

namespace keisei {

struct Bitboard {
    std::uint64_t lo = 0;  // squares 0..63
    std::uint64_t hi = 0;  // squares 64..80

    static constexpr Bitboard of(int square) {
        return square < 64 ? Bitboard{std::uint64_t{1} << square, 0} : Bitboard{0, std::uint64_t{1} << (square - 64)};
    }

    constexpr Bitboard operator&(Bitboard o) const { return {lo & o.lo, hi & o.hi}; }
    constexpr Bitboard operator|(Bitboard o) const { return {lo | o.lo, hi | o.hi}; }
    constexpr Bitboard operator^(Bitboard o) const { return {lo ^ o.lo, hi ^ o.hi}; }
    constexpr Bitboard without(Bitboard o) const { return {lo & ~o.lo, hi & ~o.hi}; }
    constexpr Bitboard& operator&=(Bitboard o) { return *this = *this & o; }
    constexpr Bitboard& operator|=(Bitboard o) { return *this = *this | o; }
    constexpr Bitboard& operator^=(Bitboard o) { return *this = *this ^ o; }
    constexpr bool operator==(const Bitboard&) const = default;
    constexpr explicit operator bool() const { return (lo | hi) != 0; }

    constexpr bool has(int square) const { return static_cast<bool>(*this & of(square)); }
    constexpr int count() const { return std::popcount(lo) + std::popcount(hi); }
    constexpr bool more_than_one() const { return lo ? (lo & (lo - 1)) || hi : (hi & (hi - 1)) != 0; }

    // The lowest square; the set must not be empty.
    constexpr int first() const { return lo ? std::countr_zero(lo) : 64 + std::countr_zero(hi); }
    constexpr int pop() {
        if (lo) {
            const int square = std::countr_zero(lo);
            lo &= lo - 1;
            return square;
        }
        const int square = 64 + std::countr_zero(hi);
        hi &= hi - 1;
        return square;
    }

    // Shift by 0 < n < 64 towards higher or lower squares. Bits may leave the board: mask where it matters.
    constexpr Bitboard up(int n) const { return {lo << n, hi << n | lo >> (64 - n)}; }
    constexpr Bitboard down(int n) const { return {lo >> n | hi << (64 - n), hi >> n}; }
};

constexpr Bitboard ALL_SQUARES = {~std::uint64_t{0}, (std::uint64_t{1} << (SQUARES - 64)) - 1};

constexpr Bitboard row_mask(int row) {
    Bitboard set;
    for (int column = 0; column < BOARD_SIDE; ++column) set |= Bitboard::of(row * BOARD_SIDE + column);
    return set;
}

constexpr Bitboard column_mask(int column) {
    Bitboard set;
    for (int row = 0; row < BOARD_SIDE; ++row) set |= Bitboard::of(row * BOARD_SIDE + column);
    return set;
}

constexpr Bitboard NOT_LEFT = ALL_SQUARES ^ column_mask(0);
constexpr Bitboard NOT_RIGHT = ALL_SQUARES ^ column_mask(BOARD_SIDE - 1);

// The first n rows as the player sees them, the far side of the board first.
constexpr Bitboard far_rows(Color color, int n) {
    Bitboard set;
    for (int row = 0; row < n; ++row) set |= row_mask(color == BLACK ? row : BOARD_SIDE - 1 - row);
    return set;
}

// Whole-set steps in Black's directions; forward is towards row 0.
constexpr Bitboard step_north(Bitboard b) { return b.down(9); }
constexpr Bitboard step_south(Bitboard b) { return b.up(9) & ALL_SQUARES; }
constexpr Bitboard step_west(Bitboard b) { return (b & NOT_LEFT).down(1); }
constexpr Bitboard step_east(Bitboard b) { return (b & NOT_RIGHT).up(1); }

// a - b as 128-bit numbers.
constexpr Bitboard subtract(Bitboard a, Bitboard b) { return {a.lo - b.lo, a.hi - b.hi - (a.lo < b.lo)}; }

// The highest square of a set as a set of one, or square 0 when the set is empty.
constexpr Bitboard highest_or_zeroth(Bitboard b) {
    if (b.hi) return {0, std::uint64_t{1} << (63 - std::countl_zero(b.hi))};
    return {std::uint64_t{1} << (63 - std::countl_zero(b.lo | 1)), 0};
}

}  // namespace keisei
