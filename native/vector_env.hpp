// Many games stepped together in native threads, with automatic reset.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "action.hpp"
#include "game.hpp"
#include "starts.hpp"
#include "thread_pool.hpp"

namespace keisei {

struct VectorEnvConfig {
    int num_games = 1;
    std::uint64_t seed = 0;
    int num_threads = 1;
    ActionSpace actions = ActionSpace::COMPACT;
    Rules rules;
    StartMixture starts;
    bool declare = true;       // end a game as soon as the mover may declare
    bool mate_in_one = false;  // fill Arrays::mate_in_one
    bool mirror = false;       // show half of the games left-right mirrored, each from its first ply to its last
};

// Where the results go; the caller owns the memory. One row a game.
// "After" arrays describe the position to move in next, past any reset; "step" arrays describe the ply just played.
// Records and actions, given and taken, are in the frame of their game: mirrored or not.
struct VectorEnvArrays {
    std::uint8_t* records = nullptr;         // [N, 96] after
    std::uint16_t* legal_actions = nullptr;  // [N, 593] after; entries past the count are unspecified
    std::uint16_t* legal_counts = nullptr;   // [N] after
    std::uint8_t* repetitions = nullptr;     // [N] after: earlier occurrences of the position
    std::uint16_t* mate_in_one = nullptr;    // [N] after: a mating action, or NO_ACTION
    bool* mirrored = nullptr;                // [N] after: the frame of the game
    float* rewards = nullptr;                // [N] step, in the view of the player who moved
    bool* terminated = nullptr;              // [N] step
    bool* truncated = nullptr;               // [N] step
    std::uint8_t* reasons = nullptr;         // [N] step: Reason
    std::uint8_t* final_records = nullptr;   // [N, 96] step: the last position where a game ended, else untouched
};

struct RandomPlayStats {
    std::uint64_t plies = 0;
    std::uint64_t games = 0;
    std::array<std::uint64_t, REASONS> by_reason{};
    std::array<std::uint64_t, 2> wins{};
};

class VectorEnv {
public:
    // Throws std::invalid_argument when the configuration makes no sense.
    VectorEnv(const VectorEnvConfig& config, const VectorEnvArrays& arrays);

    // Begins every game anew from the seed.
    void reset();

    // The first game whose action is not legal, or -1 when all are.
    int first_illegal(const std::int32_t* actions);

    // Plays one legal action in every game.
    void step(const std::int32_t* actions);

    // One uniformly drawn legal action a game.
    void random_actions(std::int32_t* out);

    // Plays random actions without returning to the caller.
    RandomPlayStats play_random(int plies);

    // Games in flight and random states, to go on from exactly here.
    std::string save_state() const;
    // Throws std::invalid_argument, with the environment unchanged, when the state does not fit.
    void load_state(std::string_view state);

    const VectorEnvConfig& config() const { return config_; }
    const Game& game(int i) const { return slots_[static_cast<std::size_t>(i)].game; }
    // The last game that ended on a board; its outcome is open when none has.
    const Game& finished_game(int i) const { return slots_[static_cast<std::size_t>(i)].finished; }

private:
    struct Slot {
        explicit Slot(const Rules& rules) : game(rules), finished(rules) {}

        // `action` as the engine numbers it, not mirrored.
        bool is_legal(int action) const;

        Game game;
        Game finished;                  // the last game that ended here
        Random start_random;            // draws starting positions
        Random action_random;           // draws random actions
        std::vector<Position> archive;  // positions of earlier games
        std::size_t archive_next = 0;
        bool mirrored = false;
        int count = 0;                          // of legal
        std::uint16_t legal[ACTION_LIST_SIZE];  // not mirrored
    };

    template <class Body>
    void for_each_game(Body body);

    void restart(Slot& slot);
    void refresh(Slot& slot);
    void play(Slot& slot, int action);
    void archive_position(Slot& slot);
    void step_game(int i, int action);
    void publish(int i);
    void write_record(const Slot& slot, std::uint8_t* out) const;
    // From the frame of a game to the engine's numbers or back; anything that is no action stays what it is.
    std::int32_t in_frame(const Slot& slot, std::int32_t action) const;

    VectorEnvConfig config_;
    VectorEnvArrays arrays_;
    std::vector<std::uint16_t> mirror_table_;  // the mirror image of each action; empty without mirroring
    std::vector<Slot> slots_;
    std::unique_ptr<ThreadPool> pool_;
};

}  // namespace keisei
