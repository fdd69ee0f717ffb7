// The engine without Python, to be built with sanitizers: threads, and many random damaged inputs.
//
//   self_test [INPUTS [SEED]]
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "exercise.hpp"
#include "observation.hpp"
#include "perft.hpp"
#include "sfen.hpp"
#include "vector_env.hpp"

namespace keisei {
namespace {

using exercise::expect;

constexpr int DEFAULT_INPUTS = 20'000;
constexpr int GAMES = 48;
constexpr int STEPS = 120;
constexpr int THREADS = 4;
constexpr int SHORT_LOOPS = 20'000;
constexpr int SHORTEST_LOOPS = 7;

// Everything that a vector environment writes.
struct Results {
    std::vector<std::uint8_t> records = std::vector<std::uint8_t>(GAMES * RECORD_BYTES);
    std::vector<std::uint16_t> legal_actions = std::vector<std::uint16_t>(GAMES * MAX_LEGAL_MOVES);
    std::vector<std::uint16_t> legal_counts = std::vector<std::uint16_t>(GAMES);
    std::vector<std::uint8_t> repetitions = std::vector<std::uint8_t>(GAMES);
    std::vector<std::uint16_t> mate_in_one = std::vector<std::uint16_t>(GAMES);
    std::vector<std::uint8_t> mirrored = std::vector<std::uint8_t>(GAMES);
    std::vector<float> rewards = std::vector<float>(GAMES);
    std::vector<std::uint8_t> terminated = std::vector<std::uint8_t>(GAMES);
    std::vector<std::uint8_t> truncated = std::vector<std::uint8_t>(GAMES);
    std::vector<std::uint8_t> reasons = std::vector<std::uint8_t>(GAMES);
    std::vector<std::uint8_t> final_records = std::vector<std::uint8_t>(GAMES * RECORD_BYTES);

    VectorEnvArrays pointers() {
        static_assert(sizeof(bool) == 1);
        return {records.data(),
                legal_actions.data(),
                legal_counts.data(),
                repetitions.data(),
                mate_in_one.data(),
                reinterpret_cast<bool*>(mirrored.data()),
                rewards.data(),
                reinterpret_cast<bool*>(terminated.data()),
                reinterpret_cast<bool*>(truncated.data()),
                reasons.data(),
                final_records.data()};
    }
};

VectorEnvConfig mixed_config(ActionSpace actions, int threads) {
    VectorEnvConfig config;
    config.num_games = GAMES;
    config.seed = 20;
    config.num_threads = threads;
    config.actions = actions;
    config.rules.max_plies = 60;
    config.starts.random_prefix = 1;
    config.starts.prefix_plies = 40;
    config.starts.earlier = 1;
    config.starts.listed = 1;
    config.starts.positions = {parse_sfen("R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1")};
    config.mate_in_one = true;
    config.mirror = true;
    return config;
}

// Plays, with a state saved on the way and gone back to, and returns the last records.
std::vector<std::uint8_t> play_games(ActionSpace actions, int threads) {
    Results results;
    VectorEnv env(mixed_config(actions, threads), results.pointers());
    std::vector<std::int32_t> chosen(GAMES);
    std::string saved;
    for (int step = 0; step < STEPS; ++step) {
        if (step == STEPS / 2) saved = env.save_state();
        env.random_actions(chosen.data());
        expect(env.first_illegal(chosen.data()) == -1, "random actions are legal");
        env.step(chosen.data());
    }
    const std::vector<std::uint8_t> last = results.records;
    env.load_state(saved);
    env.play_random(STEPS - STEPS / 2);
    expect(results.records == last, "a loaded state plays the same games");
    return last;
}

// Reads the same records from many threads at once, as the batch functions do.
void read_records_together(const std::vector<std::uint8_t>& records) {
    std::vector<std::uint16_t> counts(GAMES);
    std::vector<float> planes(GAMES * PLANES * SQUARES);
    ThreadPool pool(THREADS);
    pool.for_chunks(GAMES, 4, [&](int begin, int end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
            const std::uint8_t* record = records.data() + i * RECORD_BYTES;
            exercise::examine_record(record);
            unpack_planes(record, planes.data() + i * PLANES * SQUARES);
            Position position;
            std::uint16_t legal[ACTION_LIST_SIZE];
            int count = 0;
            if (read_trusted_record(record, position)) generate_actions(position, ActionSpace::COMPACT, legal, count);
            counts[i] = static_cast<std::uint16_t>(count);
        }
    });
    for (const std::uint16_t count : counts) expect(count > 0, "every game in flight has a legal action");
}

void test_threads() {
    for (const ActionSpace actions : {ActionSpace::COMPACT, ActionSpace::FULL}) {
        const std::vector<std::uint8_t> one = play_games(actions, 1);
        expect(play_games(actions, THREADS) == one, "the number of threads does not change the games");
        read_records_together(one);
    }
}

// Short loops in quick succession: threads that come late to one must neither join it nor be missed in the next.
void test_short_loops() {
    ThreadPool pool(THREADS);
    for (int round = 1; round <= SHORT_LOOPS; ++round) {
        const int count = round % SHORTEST_LOOPS + 2;
        std::atomic<int> sum{0};
        pool.for_chunks(count, 1, [&](int begin, int end) {
            for (int i = begin; i < end; ++i) sum += i;
        });
        expect(sum == count * (count - 1) / 2, "every index is visited once");
    }
}

void test_perft() {
    Position position = parse_sfen(STANDARD_SFEN);
    expect(perft(position, 3) == 25'470, "perft 3 of the standard array is 25,470");
}

// Bytes that now and then are text of the kind that SFENs and moves are made of.
std::vector<std::uint8_t> random_input(Random& random) {
    constexpr std::string_view LETTERS = "plnsgbrkPLNSGBRK123456789+/ bw-*abcdefghi\n";
    constexpr std::uint32_t LONGEST = 120;
    std::vector<std::uint8_t> input(1 + random.below(LONGEST));
    const bool text = random.below(2) == 0;
    for (std::uint8_t& byte : input) {
        byte = text ? static_cast<std::uint8_t>(LETTERS[random.below(LETTERS.size())])
                    : static_cast<std::uint8_t>(random.below(256));
    }
    input[0] = static_cast<std::uint8_t>(random.below(exercise::INPUT_KINDS));
    return input;
}

// More of the strongest pieces than a set has, and a full hand: the most moves that bytes in range can ask for.
void examine_crowded_record(Random& random) {
    constexpr std::uint8_t FULL_HAND[4] = {18, 4 | 4 << 4, 4 | 4 << 4, 2 | 2 << 4};
    constexpr PieceType STRONGEST[4] = {BISHOP, ROOK, HORSE, DRAGON};
    std::uint8_t record[RECORD_BYTES] = {};
    for (std::uint32_t n = 5 + random.below(30); n > 0; --n) {
        record[random.below(SQUARES)] = make_piece(BLACK, STRONGEST[random.below(4)]);
    }
    const int king = static_cast<int>(random.below(SQUARES));
    record[king] = make_piece(BLACK, KING);
    record[rotated(king) == king ? 0 : rotated(king)] = make_piece(WHITE, KING);
    std::copy_n(FULL_HAND, sizeof FULL_HAND, record + RECORD_HANDS);
    exercise::examine_record(record);
}

void test_damaged_inputs(int inputs, std::uint64_t seed) {
    Random random(seed);
    for (int i = 0; i < inputs; ++i) {
        exercise::examine_input(random_input(random));
        if (i % 8 == 0) examine_crowded_record(random);
    }
}

}  // namespace
}  // namespace keisei

int main(int argc, char** argv) {
    const int inputs = argc > 1 ? std::atoi(argv[1]) : keisei::DEFAULT_INPUTS;
    const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    keisei::test_perft();
    keisei::test_threads();
    keisei::test_short_loops();
    keisei::test_damaged_inputs(inputs, seed);
    std::printf("self-test passed: %d damaged inputs, seed %llu\n", inputs, static_cast<unsigned long long>(seed));
    return 0;
}
