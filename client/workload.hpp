#pragma once
// What clients ask for. A Script is one client: it writes that client's next request and remembers what
// a right answer must say. Everything follows from the seed and the client's index, except the ids in
// queries and cancels, which the server gave. Pure; one thread at a time.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "client/options.hpp"
#include "client/random.hpp"

namespace exchange::loadgen {

enum class RequestKind : std::uint8_t { account, account_with_shares, order, query, cancel };
inline constexpr std::size_t request_kinds = 5;
const char* name_of(RequestKind kind);

// A request in few bytes: enough to write it, and to know its answer.
struct Request {
  RequestKind kind = RequestKind::order;
  std::uint16_t symbol = 0;       // from 1
  std::int32_t amount = 0;        // shares of an order, negative to sell; shares placed with an account
  std::int32_t limit_cents = 0;   // of an order
  std::uint64_t id = 0;           // query, cancel: the order's; account: its sequence number
};

// Appends a number, or a price of so many cents, as requests write them.
char* write_number(char* out, std::int64_t number);
char* write_cents(char* out, std::int32_t cents);
char* write_text(char* out, std::string_view text);

// The frame of one request: the length line, then the document. Holds one at a time.
class FrameBuffer {
 public:
  static constexpr std::size_t document_bytes_max = 480;  // the longest of the workloads' requests takes 250
  char* document() { return bytes_.data() + header_bytes_max; }
  // The whole frame, for the document that ends at `end`.
  std::string_view frame(char* end);

 private:
  static constexpr std::size_t header_bytes_max = 8;
  std::array<char, header_bytes_max + document_bytes_max> bytes_;
};

class Script {
 public:
  Script(const WorkloadOptions& options, unsigned client);

  // The next request, valid until `buffer` is used again.
  std::string_view next(FrameBuffer& buffer);
  // The request last written.
  const Request& request() const { return request_; }
  std::string_view account() const { return account_; }
  // The account that the request last written creates.
  char* write_new_account(char* out) const;
  // The server opened an order of ours: later queries and cancels may name it.
  void opened(std::uint64_t order);

 private:
  static constexpr unsigned orders_kept_max = 64;  // the latest orders, to query and cancel
  void draw();
  void draw_order();
  char* write(char* out) const;

  const WorkloadOptions* options_;
  std::string account_;
  Random random_;
  Request request_;
  std::uint64_t accounts_ = 0;
  std::uint64_t opened_ = 0;           // orders so far; the latest orders_kept_max are in orders_
  std::vector<std::uint64_t> orders_;  // ring by opened_; 0: canceled since
};

// Creates what the clients' requests rely on: for each an account with ample cash, and ample shares of
// every symbol. Empty for WorkloadKind::create.
struct SetupRequest {
  std::string frame;
  std::size_t leaves;  // reply elements that it must get, none an error
};
std::vector<SetupRequest> setup_requests(const WorkloadOptions& options, unsigned clients);

}  // namespace exchange::loadgen
