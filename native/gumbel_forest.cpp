#include "gumbel_forest.hpp"

#include <algorithm>
#include <cstring>

namespace keisei {
namespace {

constexpr int CHUNKS_PER_THREAD = 4;

}  // namespace

GumbelForest::GumbelForest(const std::vector<const Game*>& games, const GumbelSettings& settings,
                           const std::vector<Move>& only, int num_threads)
    : settings_(settings), selected_(games.size()) {
    trees_.reserve(games.size());
    for (const Game* game : games) trees_.emplace_back(*game, settings, only);
    pool_ = std::make_unique<ThreadPool>(std::clamp(num_threads, 1, std::max(1, size())));
}

template <class Body>
void GumbelForest::for_each_tree(Body body) {
    const int chunk = std::max(1, size() / (pool_->num_threads() * CHUNKS_PER_THREAD));
    pool_->for_chunks(size(), chunk, [&](int begin, int end) {
        for (int i = begin; i < end; ++i) body(static_cast<std::size_t>(i));
    });
}

void GumbelForest::add_simulations(int simulations) {
    for (GumbelTree& tree : trees_) tree.add_simulations(simulations);
}

int GumbelForest::select(int leaves_per_tree, std::uint8_t* records) {
    const auto stride = static_cast<std::size_t>(leaves_per_tree) * RECORD_BYTES;
    for_each_tree([&](std::size_t i) {
        int count = 0;
        while (count < leaves_per_tree &&
               trees_[i].select(records + i * stride + static_cast<std::size_t>(count) * RECORD_BYTES)) {
            ++count;
        }
        selected_[i] = count;
    });
    std::uint8_t* out = records;
    for (std::size_t i = 0; i < trees_.size(); ++i) {
        const auto bytes = static_cast<std::size_t>(selected_[i]) * RECORD_BYTES;
        std::memmove(out, records + i * stride, bytes);
        out += bytes;
    }
    waiting_ = static_cast<int>((out - records) / RECORD_BYTES);
    return waiting_;
}

void GumbelForest::expand(const float* logits, const float* values) {
    std::vector<std::size_t> first_row(trees_.size());
    std::size_t rows = 0;
    for (std::size_t i = 0; i < trees_.size(); ++i) {
        first_row[i] = rows;
        rows += static_cast<std::size_t>(selected_[i]);
    }
    const auto width = static_cast<std::size_t>(action_count(settings_.actions));
    for_each_tree([&](std::size_t i) {
        for (std::size_t row = first_row[i]; row < first_row[i] + static_cast<std::size_t>(selected_[i]); ++row) {
            trees_[i].expand(logits + row * width, values[row]);
        }
        selected_[i] = 0;
    });
    waiting_ = 0;
}

std::size_t GumbelForest::bytes() const {
    std::size_t total = 0;
    for (const GumbelTree& tree : trees_) total += tree.bytes();
    return total;
}

}  // namespace keisei
