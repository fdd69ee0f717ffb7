#include "thread_pool.hpp"

#include <algorithm>
#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif

namespace keisei {
namespace {

// About 50 microseconds: longer than a loop over a few games, shorter than anybody would mind.
constexpr int WATCHFUL_TURNS = 1000;

inline void rest_briefly() {
#if defined(__x86_64__) || defined(_M_X64)
    _mm_pause();
#else
    std::this_thread::yield();
#endif
}

}  // namespace

ThreadPool::ThreadPool(int num_threads) {
    try {
        for (int i = 1; i < num_threads; ++i) threads_.emplace_back([this] { serve(); });
    } catch (...) {
        stop();  // the system has no more threads: those that did start must not be left waiting
        throw;
    }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
    stop_ = true;
    wake();
    for (auto& thread : threads_) thread.join();
}

template <class Condition>
void ThreadPool::await(std::condition_variable& changed, Condition condition) {
    for (int turn = 0; turn < WATCHFUL_TURNS; ++turn) {
        if (condition()) return;
        rest_briefly();
    }
    std::unique_lock lock(mutex_);
    ++sleeping_;
    changed.wait(lock, condition);
    --sleeping_;
}

void ThreadPool::wake() {
    // A sleeper counts itself before it looks at the condition for the last time, with the lock held.
    if (sleeping_ == 0) return;
    {
        const std::lock_guard lock(mutex_);
    }
    begun_.notify_all();
}

void ThreadPool::for_chunks(int count, int chunk, const std::function<void(int, int)>& body) {
    if (threads_.empty() || count <= chunk) {
        if (count > 0) body(0, count);
        return;
    }
    body_ = &body;
    count_ = count;
    chunk_ = chunk;
    next_ = 0;
    {
        const std::lock_guard lock(mutex_);
        is_open_ = true;
    }
    ++round_;
    wake();
    work();
    {
        const std::lock_guard lock(mutex_);
        is_open_ = false;
    }
    await(finished_, [this] { return active_ == 0; });
}

bool ThreadPool::join() {
    const std::lock_guard lock(mutex_);
    if (is_open_) ++active_;
    return is_open_;
}

void ThreadPool::leave() {
    if (--active_ > 0) return;
    {
        const std::lock_guard lock(mutex_);
    }
    finished_.notify_one();
}

void ThreadPool::work() {
    for (int begin = next_.fetch_add(chunk_); begin < count_; begin = next_.fetch_add(chunk_)) {
        (*body_)(begin, std::min(begin + chunk_, count_));
    }
}

void ThreadPool::serve() {
    std::uint64_t seen = 0;
    for (;;) {
        await(begun_, [&] { return stop_ || round_ != seen; });
        if (stop_) return;
        seen = round_;
        if (!join()) continue;
        work();
        leave();
    }
}

}  // namespace keisei
