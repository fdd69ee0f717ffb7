// Small fast random numbers whose whole state is one word, so that it can be saved and restored.
#pragma once

#include <cstdint>

#include "zobrist.hpp"

namespace keisei {

class Random {
public:
    explicit Random(std::uint64_t seed = 0) : state_(seed) {}

    std::uint64_t next() { return split_mix(state_); }

    // Uniform below n by multiplication; the bias is below n / 2^32.
    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>((next() >> 32) * std::uint64_t{n} >> 32); }

    double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

    std::uint64_t state() const { return state_; }
    void set_state(std::uint64_t state) { state_ = state; }

private:
    std::uint64_t state_;
};

}  // namespace keisei
