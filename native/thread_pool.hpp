// A fixed set of threads that share loops over indices.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace keisei {

// Loops are short and follow each other closely, so threads watch for the next one a little while before they sleep:
// waking a sleeping thread takes longer than many a loop.
class ThreadPool {
public:
    // The calling thread is one of num_threads.
    explicit ThreadPool(int num_threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int num_threads() const { return static_cast<int>(threads_.size()) + 1; }

    // Calls body(begin, end) for chunks that cover 0..count, in any order and on any thread. The body must not throw.
    void for_chunks(int count, int chunk, const std::function<void(int, int)>& body);

private:
    void stop();
    void work();
    void serve();
    // Whether a round is open to a thread that comes now. One that wakes too late has no part in it, and is not missed.
    bool join();
    void leave();

    // Returns when the condition holds: soon by watching, later by sleeping. Whoever makes it true notifies.
    template <class Condition>
    void await(std::condition_variable& changed, Condition condition);
    void wake();

    std::vector<std::thread> threads_;
    std::mutex mutex_;
    std::condition_variable begun_;
    std::condition_variable finished_;
    std::atomic<int> sleeping_{0};
    std::atomic<std::uint64_t> round_{0};
    std::atomic<int> active_{0};
    std::atomic<bool> stop_{false};
    std::atomic<int> next_{0};
    bool is_open_ = false;  // under the mutex
    // Written before a round begins, read during it.
    const std::function<void(int, int)>* body_ = nullptr;
    int count_ = 0;
    int chunk_ = 1;
};

}  // namespace keisei
