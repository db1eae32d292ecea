// A bare Boost.Asio server, the baseline for the exchange. It runs on one thread, or on a blocking
// thread for each client, and answers whatever it reads with one canned reply, as many bytes as the
// exchange's reply to an order. With a journal, a separate thread writes a record of each request
// and syncs the records of all waiting requests at once; only then are they answered. This measures
// the cost of durable replies without an exchange.
//   echo_server [PORT [JOURNAL [threads]]]     PORT 0 or missing: a free port of 127.0.0.1
//   loadgen --connect 127.0.0.1:PORT --reply-check off

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "base/guarded.hpp"

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
constexpr auto use_tuple = asio::as_tuple(asio::use_awaitable);
constexpr std::string_view reply =
    "<results><opened sym=\"SYM1\" amount=\"10\" limit=\"100.25\" id=\"123456\"/></results>\n";

// Works as the exchange's journal does: one thread, a file that is overwritten in place, one write
// and one sync for all waiting requests.
class Journal {
 public:
  explicit Journal(const char* path) : file_(::open(path, O_RDWR | O_CREAT | O_TRUNC, 0600)) {
    require(file_ >= 0);
    write(std::string(file_bytes, '.'), 0);
    require(::fsync(file_) == 0);
    thread_ = std::thread([this] { run(); });
  }
  Journal(const Journal&) = delete;
  ~Journal() {
    waiting_.with([](Waiting& waiting) { waiting.stopping = true; });
    waiting_.notify();
    thread_.join();
    ::close(file_);
  }

  // Calls `committed` on the journal's thread once the record of a request is on the disk.
  void commit(std::function<void()> committed) {
    const bool first = waiting_.with([&](Waiting& waiting) {
      waiting.committed.push_back(std::move(committed));
      return waiting.committed.size() == 1;
    });
    if (first) waiting_.notify();
  }
  // Called on the journal's thread with all callbacks that were committed at once.
  std::function<void(std::vector<std::function<void()>> committed)> on_committed = call_all;

  static void call_all(const std::vector<std::function<void()>>& committed) {
    for (const auto& one : committed) one();
  }

 private:
  static constexpr std::size_t file_bytes = 16 << 20, record_bytes = 32;
  struct Waiting {
    std::vector<std::function<void()>> committed;
    bool stopping = false;
  };

  static void require(bool done) {
    if (!done) throw std::system_error(errno, std::generic_category(), "journal");
  }
  void write(const std::string& bytes, std::size_t offset) {
    const ssize_t written = ::pwrite(file_, bytes.data(), bytes.size(), ::off_t(offset));
    require(written == ssize_t(bytes.size()));
  }
  void run() {
    for (std::size_t offset = 0;;) {
      std::vector<std::function<void()>> batch;
      const bool stopping = waiting_.when(
          [](const Waiting& waiting) { return waiting.stopping || !waiting.committed.empty(); },
          [&](Waiting& waiting) {
            batch.swap(waiting.committed);
            return waiting.stopping;
          });
      if (stopping) return;
      const std::string records(record_bytes * batch.size(), 'x');
      if (offset + records.size() > file_bytes) offset = 0;
      write(records, offset);
      require(::fdatasync(file_) == 0);
      offset += records.size();
      on_committed(std::move(batch));
      ::sched_yield();  // as the core does
    }
  }

  const int file_;
  exchange::Guarded<Waiting> waiting_;
  std::thread thread_;
};

// Completes once the record of a request is on the disk.
asio::awaitable<void> committed(Journal& journal) {
  return asio::async_initiate<decltype(asio::use_awaitable), void()>(
      [&journal](auto handler) {
        const auto shared = std::make_shared<decltype(handler)>(std::move(handler));
        journal.commit([shared] { (*shared)(); });
      },
      asio::use_awaitable);
}

asio::awaitable<void> serve(tcp::socket socket, Journal* journal) {
  char bytes[4096];
  while (true) {
    const auto [read_error, received] =
        co_await socket.async_read_some(asio::buffer(bytes), use_tuple);
    if (read_error) co_return;
    if (journal != nullptr) co_await committed(*journal);
    const auto [write_error, sent] =
        co_await asio::async_write(socket, asio::buffer(reply), use_tuple);
    if (write_error) co_return;
  }
}

void serve_blocking(tcp::socket& socket, Journal& journal) {
  char bytes[4096];
  const auto committed = std::make_shared<std::binary_semaphore>(0);  // acquire() may end first
  boost::system::error_code error;
  while (socket.read_some(asio::buffer(bytes), error) > 0) {
    journal.commit([committed] { committed->release(); });
    committed->acquire();
    asio::write(socket, asio::buffer(reply), error);
    if (error) return;
  }
}

asio::awaitable<void> accept_clients(tcp::acceptor& acceptor, Journal* journal, bool threads) {
  while (true) {
    auto [error, socket] = co_await acceptor.async_accept(use_tuple);
    if (error == asio::error::operation_aborted) co_return;
    if (error) continue;
    boost::system::error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    if (threads)
      std::thread([socket = std::move(socket), journal]() mutable {
        serve_blocking(socket, *journal);
      }).detach();
    else
      asio::co_spawn(acceptor.get_executor(), serve(std::move(socket), journal), asio::detached);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const auto port = static_cast<unsigned short>(argc > 1 ? std::atoi(argv[1]) : 0);
  asio::io_context context(1);
  std::optional<Journal> journal;
  const bool threads = argc > 3 && argv[3] == std::string_view("threads");
  if (argc > 2) journal.emplace(argv[2]);
  if (journal && !threads)
    journal->on_committed = [&context](std::vector<std::function<void()>> batch) {
      asio::post(context, [batch = std::move(batch)] { Journal::call_all(batch); });
    };
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), port});
  acceptor.listen(4096);
  asio::signal_set signals(context, SIGINT, SIGTERM);
  signals.async_wait([&](auto...) { context.stop(); });
  asio::co_spawn(context, accept_clients(acceptor, journal ? &*journal : nullptr, threads),
                 asio::detached);
  std::printf("ready port=%u\n", unsigned(acceptor.local_endpoint().port()));
  std::fflush(stdout);
  context.run();
  if (threads) std::_Exit(0);  // its threads may be reading
} catch (const std::exception& error) {
  std::fprintf(stderr, "echo_server: %s\n", error.what());
  return 1;
}
