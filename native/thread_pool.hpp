// A fixed set of threads that share loops over indices.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace keisei {

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

    std::vector<std::thread> threads_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable done_;
    std::uint64_t round_ = 0;
    int busy_ = 0;
    bool stop_ = false;
    const std::function<void(int, int)>* body_ = nullptr;
    int count_ = 0;
    int chunk_ = 1;
    std::atomic<int> next_{0};
};

}  // namespace keisei
