// Event queues whose threads are blocked.

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <future>
#include <thread>

#include "catch.hpp"
#include "metrics/stages.hpp"
#include "net/transport.hpp"

using namespace exchange;

namespace {

// Blocks the thread that submits until it is released.
struct HoldingService final : Service {
  void submit(std::span<Submission* const> submissions) override {
    entered.set_value();
    released.wait();
    for (Submission* const one : submissions) {
      one->refuse(Reason::key_unchecked);
      one->sink->completed({&one, 1});
    }
  }
  std::promise<void> entered, release;
  std::shared_future<void> released = release.get_future().share();
};

}  // namespace

TEST_CASE("an event queue whose threads do not go on has been silent for longer and longer") {
  NetOptions options;
  options.port = 0;
  options.policy = GENERATE(Policy::pool, Policy::loop);
  options.threads = 1;
  const ProtocolLimits protocol;
  Metrics metrics;
  HoldingService service;
  const auto transport = make_transport({options, protocol, service, metrics});
  boost::asio::io_context context;
  boost::asio::ip::tcp::socket client(context);
  client.connect({boost::asio::ip::address_v4::loopback(), transport->port()});
  const std::string document = "<transactions id='1'><query id='1'/></transactions>";
  boost::asio::write(client,
                     boost::asio::buffer(std::to_string(document.size()) + "\n" + document));
  service.entered.get_future().wait();
  constexpr std::int64_t two_beats_ns = 2'000'000'000;
  while (transport->silence_ns(monotonic_ns()) < two_beats_ns) std::this_thread::yield();
  CHECK(transport->threads() == 1);
  service.release.set_value();
  while (transport->silence_ns(monotonic_ns()) >= two_beats_ns) std::this_thread::yield();
  transport->stop();
}
