// libFuzzer target: any bytes as an SFEN, a game, a packed position or the saved state of a vector environment.
#include <cstddef>

#include "exercise.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    keisei::exercise::examine_input({data, size});
    return 0;
}
