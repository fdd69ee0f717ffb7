#include "gumbel_tree.hpp"

#include <algorithm>
#include <bit>
#include <climits>
#include <cmath>
#include <limits>
#include <numeric>

#include "mate.hpp"
#include "random.hpp"

namespace keisei {
namespace {

constexpr double VISIT_OFFSET = 50;  // the paper's c_visit: values count even before there are visits
constexpr double UNLIKELY = 1e-9;    // keeps a policy that rounds to nothing from becoming minus infinity
constexpr double EXCLUDED = -std::numeric_limits<double>::infinity();

double exact_value(Verdict verdict) {
    if (verdict == Verdict::DRAW) return 0;
    return verdict == Verdict::WIN ? 1 : -1;
}

Verdict reversed(Verdict verdict) {
    if (verdict == Verdict::WIN) return Verdict::LOSS;
    return verdict == Verdict::LOSS ? Verdict::WIN : verdict;
}

Verdict verdict_for(Color mover, const Outcome& outcome) {
    if (outcome.winner == NO_WINNER) return Verdict::DRAW;
    return outcome.winner == mover ? Verdict::WIN : Verdict::LOSS;
}

float gumbel(Random& random) {
    const double uniform = std::max(random.unit(), std::numeric_limits<double>::min());
    return static_cast<float>(-std::log(-std::log(uniform)));
}

}  // namespace

double GumbelTree::Node::mean() const {
    if (verdict != Verdict::OPEN) return exact_value(verdict);
    return visits == 0 ? 0 : value_sum / visits;
}

void GumbelTree::Summary::add(const Node& child) {
    const double prior = std::exp(static_cast<double>(child.log_prior));
    begun += child.visits + child.in_flight;
    mass_of_begun += prior;
    if (child.visits == 0) return;
    visits += child.visits;
    max_visits = std::max(max_visits, child.visits);
    mass += prior;
    weighted_value -= prior * child.mean();
}

double GumbelTree::Summary::unvisited_value(double own_value) const {
    if (visits == 0) return own_value;
    return (own_value + visits * weighted_value / std::max(mass, UNLIKELY)) / (1 + visits);
}

GumbelTree::GumbelTree(const Game& game, const GumbelSettings& settings, const std::vector<Move>& only)
    : game_(game), settings_(settings), only_(only), nodes_(1) {
    game_.finish({});  // a game that its players ended can still be thought about
}

template <class Body>
void GumbelTree::for_each_child(const Node& parent, Body body) const {
    for (std::int32_t child = parent.first_child; child != NONE; child = node(child).next_sibling) {
        body(child, node(child));
    }
}

GumbelTree::Summary GumbelTree::summarize(const Node& parent) const {
    Summary summary;
    for_each_child(parent, [&](std::int32_t, const Node& child) { summary.add(child); });
    return summary;
}

// What a value in -1..1 counts in units of the policy's logits: the more visits, the more it is trusted.
double GumbelTree::value_weight(const Summary& summary) const {
    return (VISIT_OFFSET + summary.max_visits) * settings_.value_scale / 2;
}

// ---------------------------------------------------------------- sequential halving

void GumbelTree::add_simulations(int simulations) {
    left_ += simulations;
    if (!candidates_.empty()) begin_schedule();
}

bool GumbelTree::is_lost(const Candidate& candidate) const {
    return candidate.node != NONE && node(candidate.node).verdict == Verdict::WIN;
}

double GumbelTree::score(const Candidate& candidate, const Summary& summary) const {
    const bool visited = candidate.node != NONE && node(candidate.node).visits > 0;
    const double value =
        visited ? -node(candidate.node).mean() : summary.unvisited_value(static_cast<double>(node(ROOT).value));
    return static_cast<double>(candidate.noise + candidate.log_prior) + value_weight(summary) * value;
}

std::vector<std::int32_t> GumbelTree::not_lost() const {
    std::vector<std::int32_t> open;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
        if (!is_lost(candidates_[i])) open.push_back(static_cast<std::int32_t>(i));
    }
    return open;
}

// By score, best first.
std::vector<std::int32_t> GumbelTree::ranked(std::vector<std::int32_t> candidates) const {
    const Summary summary = summarize(node(ROOT));
    std::vector<double> scores;
    for (const Candidate& candidate : candidates_) scores.push_back(score(candidate, summary));
    std::stable_sort(candidates.begin(), candidates.end(), [&](std::int32_t a, std::int32_t b) {
        return scores[static_cast<std::size_t>(a)] > scores[static_cast<std::size_t>(b)];
    });
    return candidates;
}

void GumbelTree::begin_schedule() {
    considered_ = ranked(not_lost());
    budget_ = left_;
    const int most = std::max(1, std::min(settings_.max_considered, budget_));
    considered_.resize(std::min(considered_.size(), static_cast<std::size_t>(most)));
    const auto count = static_cast<unsigned>(considered_.size());
    phases_ = std::max(1, static_cast<int>(std::bit_width(std::max(1U, count) - 1)));
    begin_phase();
}

// Every considered move gets an equal share of the budget of a phase.
void GumbelTree::begin_phase() {
    const int count = std::max(1, static_cast<int>(considered_.size()));
    phase_visits_ = std::max(1, budget_ / (phases_ * count));
    for (const std::int32_t i : considered_) candidates_[static_cast<std::size_t>(i)].phase_visits = 0;
}

void GumbelTree::halve() {
    const std::size_t kept = std::max<std::size_t>(2, considered_.size() / 2);
    considered_ = ranked(std::move(considered_));
    considered_.resize(std::min(considered_.size(), kept));
    begin_phase();
}

// A move that is proven to lose needs no more visits; the best of the others takes its place.
void GumbelTree::replace_lost() {
    const auto lost = [&](std::int32_t i) { return is_lost(candidates_[static_cast<std::size_t>(i)]); };
    if (std::none_of(considered_.begin(), considered_.end(), lost)) return;
    const std::size_t wanted = considered_.size();
    std::erase_if(considered_, lost);
    for (const std::int32_t i : ranked(not_lost())) {
        if (considered_.size() == wanted) break;
        if (std::find(considered_.begin(), considered_.end(), i) != considered_.end()) continue;
        considered_.push_back(i);
        candidates_[static_cast<std::size_t>(i)].phase_visits = 0;
    }
}

// The root move of the next simulation; nullptr when the budget is spent or results must come back first.
GumbelTree::Candidate* GumbelTree::next_candidate() {
    for (;;) {
        if (left_ == 0 || node(ROOT).verdict != Verdict::OPEN) return nullptr;
        replace_lost();
        Candidate* next = nullptr;
        for (const std::int32_t i : considered_) {
            Candidate& candidate = candidates_[static_cast<std::size_t>(i)];
            if (next == nullptr || candidate.phase_visits < next->phase_visits) next = &candidate;
        }
        if (next->phase_visits < phase_visits_) {
            const bool is_full = next->node != NONE && node(next->node).in_flight >= settings_.leaves_per_move;
            return is_full ? nullptr : next;
        }
        if (node(ROOT).in_flight > 0) return nullptr;
        halve();
    }
}

// ---------------------------------------------------------------- simulations

bool GumbelTree::finished() const {
    const Node& root = node(ROOT);
    if (root.verdict != Verdict::OPEN) return true;
    return !candidates_.empty() && left_ == 0 && root.in_flight == 0;
}

bool GumbelTree::select(std::uint8_t* record) {
    for (;;) {
        const Descent descent = simulate(record);
        if (descent != Descent::SETTLED) return descent == Descent::NEEDS_NETWORK;
    }
}

GumbelTree::Descent GumbelTree::simulate(std::uint8_t* record) {
    if (candidates_.empty()) return arrive(ROOT, record);
    Candidate* const candidate = next_candidate();
    if (candidate == nullptr) return Descent::BLOCKED;
    if (candidate->node == NONE) candidate->node = add_child(ROOT, candidate->move, candidate->log_prior);
    ++node(ROOT).in_flight;
    int depth = 0;
    const Descent descent = descend(candidate->node, depth, record);
    for (; depth > 0; --depth) game_.undo();
    if (descent != Descent::BLOCKED) {
        ++candidate->phase_visits;
        --left_;
    }
    return descent;
}

// Follows the tree from a child of the root to a leaf. Leaves the game `depth` plies down.
GumbelTree::Descent GumbelTree::descend(std::int32_t from, int& depth, std::uint8_t* record) {
    for (std::int32_t at = from;; at = choose_child(at)) {
        Node& here = node(at);
        game_.play(here.move);
        ++depth;
        ++here.in_flight;
        if (here.verdict != Verdict::OPEN) {
            back_up(at, here.mean());
            return Descent::SETTLED;
        }
        if (here.visits == 0) {
            if (here.in_flight == 1) return arrive(at, record);
            abandon(at);  // it waits for the network already
            return Descent::BLOCKED;
        }
        game_.settle(here.in_check, true);
    }
}

// A position that is new to the tree: the rules settle it, or the network has to be asked.
GumbelTree::Descent GumbelTree::arrive(std::int32_t leaf, std::uint8_t* record) {
    MoveList moves;
    generate_moves(game_.position(), moves);
    node(leaf).in_check = in_check(game_.position(), game_.position().turn);
    if (leaf == ROOT) return arrive_at_root(moves, record);
    if (!settle(leaf, moves)) return wait_for_network(leaf, moves, record);
    back_up(leaf, node(leaf).mean());
    note_proof(node(leaf).parent, leaf);
    return Descent::SETTLED;
}

// At the root a move is wanted, whatever the game's outcome: only mate settles it.
GumbelTree::Descent GumbelTree::arrive_at_root(const MoveList& moves, std::uint8_t* record) {
    Node& root = node(ROOT);
    if (root.in_flight > 0 || root.verdict != Verdict::OPEN) return Descent::BLOCKED;
    if (moves.size == 0) {
        prove(ROOT, Verdict::LOSS, 0);
        return Descent::BLOCKED;
    }
    const Move mate = mate_in_one(game_.position());
    if (mate != NO_MOVE && is_allowed(mate)) {
        prove_root_by(mate);
        return Descent::BLOCKED;
    }
    ++root.in_flight;
    return wait_for_network(ROOT, moves, record);
}

void GumbelTree::prove_root_by(Move mate) {
    candidates_.push_back({mate, 0, 0, add_child(ROOT, mate, 0)});
    Node& mated = node(candidates_.back().node);
    mated.visits = 1;
    prove(candidates_.back().node, Verdict::LOSS, 0);
}

GumbelTree::Descent GumbelTree::wait_for_network(std::int32_t leaf, const MoveList& moves, std::uint8_t* record) {
    pack_record(game_.position(), game_.record_context(), record);
    if (waiting_count_ == waiting_.size()) waiting_.emplace_back();
    Waiting& waiting = waiting_[waiting_count_++];
    waiting.node = leaf;
    waiting.moves.assign(moves.begin(), moves.end());
    waiting.actions.clear();
    for (const Move move : moves) {
        waiting.actions.push_back(action_of(settings_.actions, move, game_.position().turn));
    }
    return Descent::NEEDS_NETWORK;
}

// True when the rules decide the position. Writes the verdict, without telling the parent.
bool GumbelTree::settle(std::int32_t leaf, const MoveList& moves) {
    Node& here = node(leaf);
    const Position& position = game_.position();
    game_.settle(here.in_check, moves.size > 0);
    Outcome outcome = game_.outcome();
    if (!outcome.over() && settings_.declare) {
        const Outcome declared = declaration(position, game_.rules().impasse);
        if (declared.winner == position.turn) outcome = declared;
    }
    if (outcome.over()) {
        here.verdict = verdict_for(position.turn, outcome);
    } else if (mate_in_one(position) != NO_MOVE) {
        here.verdict = Verdict::WIN;
        here.plies = 1;
    }
    return here.verdict != Verdict::OPEN;
}

// The child that brings the visits closest to the improved policy: policy and completed values together.
std::int32_t GumbelTree::choose_child(std::int32_t parent) {
    const Node& here = node(parent);
    const Summary summary = summarize(here);
    const double weight = value_weight(summary);
    const double unvisited = summary.unvisited_value(static_cast<double>(here.value));
    const auto exponent = [&](const Node& child) {
        if (child.verdict == Verdict::WIN) return EXCLUDED;  // the reply wins: never again
        const double value = child.visits == 0 ? unvisited : -child.mean();
        return static_cast<double>(child.log_prior) + weight * value;
    };
    // The moves without a child share one value, so together they weigh what their policy weighs.
    const bool has_more = here.child_count < here.edge_count;
    const double rest = std::max(1 - summary.mass_of_begun, UNLIKELY);
    const double rest_exponent = has_more ? std::log(rest) + weight * unvisited : EXCLUDED;
    double largest = rest_exponent;
    for_each_child(here, [&](std::int32_t, const Node& child) { largest = std::max(largest, exponent(child)); });
    double total = std::exp(rest_exponent - largest);
    for_each_child(here, [&](std::int32_t, const Node& child) { total += std::exp(exponent(child) - largest); });

    std::int32_t best = NONE;
    double best_lag = EXCLUDED;
    for_each_child(here, [&](std::int32_t index, const Node& child) {
        if (child.verdict == Verdict::WIN) return;
        const double share = static_cast<double>(child.visits + child.in_flight) / (1 + summary.begun);
        const double lag = std::exp(exponent(child) - largest) / total - share;
        if (lag > best_lag) {
            best_lag = lag;
            best = index;
        }
    });
    if (!has_more) return best;
    const Edge& edge = edges_[here.first_edge + here.child_count];
    const double lag = std::exp(static_cast<double>(edge.log_prior) + weight * unvisited - largest) / total;
    return lag > best_lag ? add_child(parent, edge.move, edge.log_prior) : best;
}

std::int32_t GumbelTree::add_child(std::int32_t parent, Move move, float log_prior) {
    const auto index = static_cast<std::int32_t>(nodes_.size());
    Node& child = nodes_.emplace_back();
    child.parent = parent;
    child.move = move;
    child.log_prior = log_prior;
    Node& here = node(parent);
    (here.last_child == NONE ? here.first_child : node(here.last_child).next_sibling) = index;
    here.last_child = index;
    ++here.child_count;
    return index;
}

void GumbelTree::abandon(std::int32_t from) {
    for (std::int32_t at = from; at != NONE; at = node(at).parent) --node(at).in_flight;
}

void GumbelTree::back_up(std::int32_t leaf, double value) {
    for (std::int32_t at = leaf; at != NONE; at = node(at).parent) {
        Node& here = node(at);
        ++here.visits;
        --here.in_flight;
        here.value_sum += value;
        value = -value;
    }
}

void GumbelTree::prove(std::int32_t index, Verdict verdict, int plies) {
    Node& here = node(index);
    here.verdict = verdict;
    here.plies = static_cast<std::uint16_t>(plies);
    if (here.parent != NONE) note_proof(here.parent, index);
}

// One winning reply proves a win; a node whose moves are all proven has the best of them.
void GumbelTree::note_proof(std::int32_t parent, std::int32_t proven) {
    Node& here = node(parent);
    const Node& child = node(proven);
    if (here.verdict != Verdict::OPEN) return;
    if (child.verdict == Verdict::LOSS) return prove(parent, Verdict::WIN, child.plies + 1);
    here.has_draw |= child.verdict == Verdict::DRAW;
    if (--here.open_edges > 0) return;
    int longest = 0;
    for_each_child(here, [&](std::int32_t, const Node& other) { longest = std::max<int>(longest, other.plies); });
    prove(parent, here.has_draw ? Verdict::DRAW : Verdict::LOSS, longest + 1);
}

// ---------------------------------------------------------------- the network's answers

void GumbelTree::expand(const float* logits, float value) {
    const Waiting& waiting = waiting_[answered_++];
    node(waiting.node).value = value;
    add_edges(waiting, logits);
    back_up(waiting.node, static_cast<double>(value));
    if (waiting.node == ROOT) make_candidates();
    if (answered_ == waiting_count_) answered_ = waiting_count_ = 0;
}

// The legal moves with the logarithms of their probabilities, likeliest first.
void GumbelTree::add_edges(const Waiting& waiting, const float* logits) {
    Node& here = node(waiting.node);
    here.first_edge = static_cast<std::uint32_t>(edges_.size());
    here.edge_count = here.open_edges = static_cast<std::uint16_t>(waiting.moves.size());
    float largest = -std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < waiting.moves.size(); ++i) {
        const float logit = logits[waiting.actions[i]];
        largest = std::max(largest, logit);
        edges_.push_back({logit, waiting.moves[i]});
    }
    const auto begin = edges_.begin() + here.first_edge;
    double total = 0;
    for (auto edge = begin; edge != edges_.end(); ++edge)
        total += std::exp(static_cast<double>(edge->log_prior - largest));
    const float norm = largest + static_cast<float>(std::log(total));
    for (auto edge = begin; edge != edges_.end(); ++edge) edge->log_prior -= norm;
    std::stable_sort(begin, edges_.end(), [](const Edge& a, const Edge& b) { return a.log_prior > b.log_prior; });
}

bool GumbelTree::is_allowed(Move move) const {
    return only_.empty() || std::find(only_.begin(), only_.end(), move) != only_.end();
}

void GumbelTree::make_candidates() {
    Node& root = node(ROOT);
    Random random(settings_.seed ^ game_.position().key ^ game_.position().ply);
    for (std::size_t i = 0; i < root.edge_count; ++i) {
        const Edge& edge = edges_[root.first_edge + i];
        const float noise = settings_.noise ? gumbel(random) : 0;
        if (is_allowed(edge.move)) candidates_.push_back({edge.move, edge.log_prior, noise});
    }
    root.open_edges = static_cast<std::uint16_t>(candidates_.size());
    begin_schedule();
}

// ---------------------------------------------------------------- results

RootMove GumbelTree::describe(const Candidate& candidate, double unvisited_value) const {
    RootMove result{candidate.move, 0, unvisited_value, std::exp(static_cast<double>(candidate.log_prior))};
    if (candidate.node == NONE || node(candidate.node).visits == 0) return result;
    const Node& child = node(candidate.node);
    result.visits = child.visits;
    result.value = -child.mean();
    result.verdict = reversed(child.verdict);
    result.plies = result.verdict == Verdict::OPEN ? 0 : child.plies + 1;
    return result;
}

std::vector<RootMove> GumbelTree::root_moves() const {
    const Summary summary = summarize(node(ROOT));
    const double unvisited = summary.unvisited_value(static_cast<double>(node(ROOT).value));
    std::vector<std::int32_t> all(candidates_.size());
    std::iota(all.begin(), all.end(), 0);
    std::vector<RootMove> moves;
    for (const std::int32_t i : ranked(std::move(all))) {
        moves.push_back(describe(candidates_[static_cast<std::size_t>(i)], unvisited));
    }
    // A lucky value after few visits must not outrank what was looked at closely: proven wins by length, then what
    // has at least half of the most visits, then the rest, then proven losses, the longest first.
    const auto rank = [&](const RootMove& move) {
        if (move.verdict == Verdict::WIN) return std::pair(0, move.plies);
        if (move.verdict == Verdict::LOSS) return std::pair(3, -move.plies);
        return std::pair(move.verdict == Verdict::DRAW || 2 * move.visits >= summary.max_visits ? 1 : 2, 0);
    };
    std::stable_sort(moves.begin(), moves.end(),
                     [&](const RootMove& a, const RootMove& b) { return rank(a) < rank(b); });
    return moves;
}

// A winner hurries, a loser holds out, and everybody else follows the visits.
std::int32_t GumbelTree::expected_child(const Node& parent) const {
    std::int32_t best = NONE;
    const auto worth = [&](const Node& child) {
        if (parent.verdict == Verdict::WIN) return child.verdict == Verdict::LOSS ? -child.plies : INT_MIN;
        return parent.verdict == Verdict::LOSS ? child.plies : child.visits;
    };
    for_each_child(parent, [&](std::int32_t index, const Node& child) {
        if (child.visits > 0 && (best == NONE || worth(child) > worth(node(best)))) best = index;
    });
    return best;
}

std::vector<Move> GumbelTree::line(Move first) const {
    std::vector<Move> moves;
    const auto begin = std::find_if(candidates_.begin(), candidates_.end(),
                                    [&](const Candidate& candidate) { return candidate.move == first; });
    if (begin == candidates_.end()) return moves;
    Position position = game_.position();
    Undo undo;
    moves.push_back(first);
    position.do_move(first, undo);
    for (std::int32_t at = begin->node; at != NONE;) {
        const Node& here = node(at);
        at = expected_child(here);
        // A mate in one was seen without playing it.
        const Move next = at != NONE ? node(at).move : here.verdict == Verdict::WIN ? mate_in_one(position) : NO_MOVE;
        if (next == NO_MOVE) break;
        moves.push_back(next);
        position.do_move(next, undo);
    }
    return moves;
}

}  // namespace keisei
