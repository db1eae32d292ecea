#pragma once
// HttpRoutes makes the response to each request: immediately on the thread of connections if the
// response depends only on state or only on the core, otherwise on the thread of answers. The table
// of paths is in http_routes.cpp. Owner: HttpServer.

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/address_limits.hpp"
#include "base/bursts.hpp"
#include "days/new_day.hpp"
#include "days/replayer.hpp"
#include "gateway/address_turns.hpp"
#include "gateway/core_client.hpp"
#include "gateway/readiness.hpp"
#include "gateway/view_changes.hpp"
#include "market_data/market_view.hpp"
#include "net/certificate.hpp"
#include "web/http_message.hpp"
#include "web/limits.hpp"

namespace exchange {

struct HttpRoutes {
  const HttpLimits& limits;
  const ProtocolLimits& protocol;
  const std::optional<MarketView>& view;  // empty: the server has no view yet
  CoreClient& core;                       // of the thread of answers
  CoreClient& entry;                      // of the thread of connections
  Readiness& readiness;
  const Store& store;
  Metrics& metrics;
  const Certificate* const certificate;  // null: no TLS
  const CloseDay close_day;
  Replayer& replayer;
  boost::asio::io_context& context;  // of the thread of answers, as `view` and `core` are
  AddressTurns turns{context, 1};    // one piece of work at a time for each address
  ViewChanges changes{context};
  Bursts bursts{};  // of making responses
  // The time over which the work for a response is spread: a large one takes about 5 ms of CPU
  // time, over 20 ms.
  static constexpr std::chrono::milliseconds spread{20};
  const std::string run = std::to_string(std::random_device{}());  // makes tags of a run unique
  struct Kept {
    std::string tag;
    std::int64_t made_ns = 0;
    HttpResponse response;
  };
  std::unordered_map<std::string, Kept> leaderboards{};  // by target; thread of answers
  AddressQuota order_reads{limits.order_reads_max, per_address_max(0, limits.order_reads_max)};

  // Returns the error response if the header of a request is not acceptable; nothing if its body
  // may be read. Any thread.
  std::optional<HttpResponse> refuse(const HttpHeader& header) const;
  // Returns the error response if a request with its body is not acceptable; nothing if it may be
  // answered. Any thread.
  std::optional<HttpResponse> refuse_content(const HttpRequest& request) const;
  std::size_t body_bytes_max(const HttpHeader& header) const;
  // Returns the response to a request that refuse() accepted, if it depends only on state: health,
  // and the files of the dashboard. Never waits. Any thread.
  std::optional<HttpResponse> answer_at_once(const HttpHeader& header);
  // Whether the core alone makes the response to a request that answer_at_once() does not answer,
  // so that it need not go to the thread of answers: small orders in JSON. Any thread.
  bool executes_at_once(const HttpRequest& request) const;
  // Returns the response to such a request from `peer`. Thread of connections.
  boost::asio::awaitable<HttpResponse> execute_at_once(HttpRequest request, Peer peer);
  // Returns the response to any other request. Thread of answers.
  boost::asio::awaitable<HttpResponse> answer(HttpRequest request, Peer peer);
  // Returns why_stale(). Thread of answers.
  boost::asio::awaitable<std::string> stale() { return why_stale(readiness, core, limits); }

  // Returns the reason if stale(), or if after a wait the view may still lack changes that were
  // committed when this was called; otherwise an empty string.
  boost::asio::awaitable<std::string> not_current();
  static constexpr std::string_view behind = "the tables are far behind; ask again later";
  // Returns a share for a read of orders or executions from the tables, which keeps it until it
  // ends. If too many reads are under way, returns an empty share, after a turn.
  using ReadShare = std::shared_ptr<const AddressQuota::Share>;
  boost::asio::awaitable<ReadShare> begin_reading(Peer peer);
  // Whether the request may see this account. If accounts have keys, the request must contain the
  // key of `account` or of an operator. A refusal always takes one hash, so that its time reveals
  // nothing. Empty: the key was not checked.
  boost::asio::awaitable<std::optional<bool>> may_see(const HttpHeader& header,
                                                      const AccountId& account, Peer peer);

  // One row of the table. After a path that ends with a slash follow one more segment and `rest`.
  // The paths of the dashboard are not in the table.
  struct Path {
    std::string_view path;
    std::string_view methods;  // "GET, HEAD"
    std::string_view parameters;
    std::string_view rest;
  };
  static std::vector<Path> paths();

  // Returns the segment after a path that ends with a slash.
  static std::string_view segment(const HttpHeader& header);
  static bool is_websocket(const HttpHeader& header);
  // Whether a request may change something.
  static bool executes(const HttpHeader& header);
  static bool is_market_data(const HttpHeader& header);
};

// Responses of the table that are in separate files. Thread: that of answers.
// Closed days (docs/http-api.md, "Replays of closed days"): day_routes.cpp.
boost::asio::awaitable<HttpResponse> closed_days(HttpRoutes& at, HttpRequest& request, Peer peer);
boost::asio::awaitable<HttpResponse> closed_day(HttpRoutes& at, HttpRequest& request, Peer peer);
boost::asio::awaitable<HttpResponse> moments(HttpRoutes& at, HttpRequest& request, Peer peer);
// An order with its executions, the fills of an account (docs/http-api.md, "Fills of an account"),
// and a request in XML: order_routes.cpp.
boost::asio::awaitable<HttpResponse> order(HttpRoutes& at, HttpRequest& request, Peer peer);
boost::asio::awaitable<HttpResponse> fills(HttpRoutes& at, HttpRequest& request, Peer peer);
boost::asio::awaitable<HttpResponse> execute(HttpRoutes& at, HttpRequest& request, Peer peer);

}  // namespace exchange
