// Gumbel search in many games at once, so that the network sees the leaves of all of them as one batch.
#pragma once

#include <memory>
#include <vector>

#include "gumbel_tree.hpp"
#include "thread_pool.hpp"

namespace keisei {

class GumbelForest {
public:
    // One tree a game. The games are copied.
    GumbelForest(const std::vector<const Game*>& games, const GumbelSettings& settings, const std::vector<Move>& only,
                 int num_threads);

    int size() const { return static_cast<int>(trees_.size()); }
    const GumbelSettings& settings() const { return settings_; }
    const GumbelTree& tree(int i) const { return trees_[static_cast<std::size_t>(i)]; }

    // Grants every tree more simulations.
    void add_simulations(int simulations);

    // Selects up to leaves_per_tree positions in every tree and writes their records one behind the other; there must
    // be room for size() * leaves_per_tree. Returns their number, 0 when all trees are finished. The network's
    // answers to all of them must be given before the next selection.
    int select(int leaves_per_tree, std::uint8_t* records);

    // Rows of the action space's width, and values, in the order of the records.
    void expand(const float* logits, const float* values);

    // Positions that wait for answers.
    int waiting() const { return waiting_; }

    std::size_t bytes() const;

private:
    template <class Body>
    void for_each_tree(Body body);

    GumbelSettings settings_;
    std::vector<GumbelTree> trees_;
    std::vector<int> selected_;  // by tree, in the last selection
    std::unique_ptr<ThreadPool> pool_;
    int waiting_ = 0;
};

}  // namespace keisei
