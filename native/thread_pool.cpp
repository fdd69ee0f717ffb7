#include "thread_pool.hpp"

#include <algorithm>

namespace keisei {

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
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    wake_.notify_all();
    for (auto& thread : threads_) thread.join();
}

void ThreadPool::for_chunks(int count, int chunk, const std::function<void(int, int)>& body) {
    if (threads_.empty() || count <= chunk) {
        if (count > 0) body(0, count);
        return;
    }
    {
        const std::lock_guard lock(mutex_);
        body_ = &body;
        count_ = count;
        chunk_ = chunk;
        next_ = 0;
        busy_ = static_cast<int>(threads_.size());
        ++round_;
    }
    wake_.notify_all();
    work();
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
}

void ThreadPool::work() {
    for (int begin = next_.fetch_add(chunk_); begin < count_; begin = next_.fetch_add(chunk_)) {
        (*body_)(begin, std::min(begin + chunk_, count_));
    }
}

void ThreadPool::serve() {
    std::uint64_t seen = 0;
    for (;;) {
        {
            std::unique_lock lock(mutex_);
            wake_.wait(lock, [&] { return stop_ || round_ != seen; });
            if (stop_) return;
            seen = round_;
        }
        work();
        const std::lock_guard lock(mutex_);
        if (--busy_ == 0) done_.notify_one();
    }
}

}  // namespace keisei
