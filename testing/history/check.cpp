#include "history/check.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "model/naive_exchange.hpp"
#include "protocol/reply.hpp"

namespace exchange::history {
namespace {

std::string error_of(const AskedElement& element, std::string_view sentence) {
  std::string reply;
  append_error(reply, element.element, sentence);
  return reply;
}

bool is_error_to(const AskedElement& element, std::string_view reply) {
  std::string begin = error_of(element, "");
  begin.resize(begin.size() - std::string_view("</error>").size());
  return reply.starts_with(begin);
}

// The place of a request in the commit order: the number of commits before the request began, and
// before it ended.
struct Place {
  Version begin = no_version, end = no_version;
  bool known() const { return begin != no_version; }
};

// A version and the request that demands it.
struct Bound {
  Version version;
  std::size_t source = no_request;
};

class Checker {
 public:
  Checker(const std::vector<RecordedRequest>& requests, const std::vector<Batch>& journal,
          TradingChanges trading_changes)
      : requests_(requests),
        journal_(journal),
        trading_changes_(trading_changes),
        commits_(commits_of(journal)),
        commit_of_element_(requests.size()),
        places_(requests.size()) {}

  Verdict run() {
    replay();
    repeats_ = match(requests_, commits_, trading_changes_, verdict_.findings);
    for (std::size_t commit = 0; commit < commits_.size(); ++commit)
      if (const std::size_t request = commits_[commit].request; request != no_request) {
        commit_of_element_[request][commits_[commit].element] = commit;
        Place& place = places_[request];
        place.begin = std::min(place.begin, commit);
        place.end = place.end == no_version ? commit + 1 : std::max(place.end, commit + 1);
      }
    check_shapes();
    for (std::size_t request = 0; request < requests_.size(); ++request)
      if (places_[request].known() && !requests_[request].replies.empty()) compare_change(request);
    place_all();
    count();
    std::stable_sort(
        verdict_.findings.begin(), verdict_.findings.end(),
        [](const Finding& a, const Finding& b) { return a.line.empty() < b.line.empty(); });
    return std::move(verdict_);
  }

 private:
  void find(std::size_t request, const std::string& sentence) {
    verdict_.findings.push_back({requests_[request].line, sentence});
  }

  // --- replies to changes ---

  void replay() {
    Timestamp last;
    std::size_t commit = 0;
    for (const Batch& batch : journal_) {
      const std::string name = "batch " + std::to_string(batch.number);
      if (batch.record.time < last)
        verdict_.findings.push_back({"", name + " is older than the one before it"});
      last = batch.record.time;
      for (std::size_t i = 0; i < batch.record.commands.size(); ++i, ++commit) {
        const Command& command = commits_[commit].command;
        const Outcome& outcome = commits_[commit].outcome =
            model_.apply(command, batch.record.time);
        const auto* const rejected = std::get_if<Rejected>(&outcome);
        if (rejected == nullptr) continue;
        if (std::holds_alternative<PlaceOrder>(command) ||
            std::holds_alternative<ReplaceOrder>(command))
          model_.number_refused();
        verdict_.findings.push_back(
            {"", history::describe(commits_, commit) +
                     " breaks the rules: " + std::string(exchange::describe(rejected->reason))});
      }
      if (batch.record.orders != model_.orders() || batch.record.executions != model_.executions())
        verdict_.findings.push_back({"", name + " reports " + std::to_string(batch.record.orders) +
                                             " orders and " +
                                             std::to_string(batch.record.executions) +
                                             " executions after it; by the rules there are " +
                                             std::to_string(model_.orders()) + " and " +
                                             std::to_string(model_.executions())});
    }
  }

  // Checks that the reply has one element for each element of the request, or one error for all.
  void check_shapes() {
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      const RecordedRequest& request = requests_[i];
      if (!request.answered) continue;
      const std::size_t wanted = request.refusal.empty() ? request.elements.size() : 1;
      if (request.replies.size() != wanted)
        find(i, "got " + std::to_string(request.replies.size()) + " reply elements to " +
                    std::to_string(wanted) + " asked");
      else if (!request.refusal.empty() && element_name(request.replies.front()) != "error")
        find(i, "is malformed (" + request.refusal + "), but got " + request.replies.front());
    }
  }

  bool comparable(std::size_t request) const {
    return requests_[request].refusal.empty() &&
           requests_[request].replies.size() == requests_[request].elements.size() &&
           !requests_[request].replies.empty();
  }

  // Compares the replies of a request that committed. Its commits fix its place: its other elements
  // were answered between them.
  void compare_change(std::size_t index) {
    if (!comparable(index)) return;
    const RecordedRequest& request = requests_[index];
    Version version = places_[index].end;
    // backwards, since a commit gives the version of the elements before it
    for (std::size_t element = request.elements.size(); element-- > 0;) {
      const auto commit = commit_of_element_[index].find(element);
      const bool committed = commit != commit_of_element_[index].end();
      if (committed) version = commit->second;
      ++verdict_.compared;
      const std::string wanted =
          wanted_reply(request, element, committed ? &commits_[version].outcome : nullptr, version);
      if (wanted != request.replies[element])
        find(index, "got " + request.replies[element] + "; right is " + wanted +
                        ", by the replay of " + where(version));
    }
  }

  // Returns the model's reply to an element, or the given reply if nothing can be compared.
  std::string wanted_reply(const RecordedRequest& request, std::size_t element,
                           const Outcome* committed, Version version) {
    const AskedElement& asked = request.elements[element];
    const std::string& got = request.replies[element];
    if (committed) return reply_to(asked, *committed);
    if (!asked.command) return is_error_to(asked, got) ? got : error_of(asked, "…");
    if (may_be_too_long(*asked.command) &&
        got == error_of(asked, exchange::describe(Reason::reply_too_long)))
      return got;
    if (is_of_server_alone(asked, got, version)) return got;
    return reply_to(asked, model_.outcome(*asked.command, version));
  }

  // Returns whether the reply may be a refusal that depends on data in neither journal nor history:
  // the number of orders in this second, refused ones included (D6), or whether accounts have keys
  // (D1).
  bool is_of_server_alone(const AskedElement& asked, const std::string& got,
                          Version version) const {
    if (std::holds_alternative<SetKey>(*asked.command))
      return got == error_of(asked, "accounts of this exchange have no keys");
    const auto* const placed = std::get_if<PlaceOrder>(&*asked.command);
    const auto* const replaced = std::get_if<ReplaceOrder>(&*asked.command);
    if (!placed && !replaced) return false;
    const std::uint64_t most =
        model_.orders_per_second_max(placed ? placed->account : replaced->account, version);
    return most > 0 && model_.counts(*asked.command, version) &&
           got == error_of(asked, sentence_of({Reason::too_many_orders_a_second, most}));
  }

  // Returns a place such as "the journal up to batch 3, command 5 (…)".
  std::string where(Version version) const {
    return version == 0 ? "nothing yet"
                        : "the journal up to " + history::describe(commits_, version - 1);
  }

  // --- real time ---

  // Takes the requests in the order in which they were sent, and gives each that changed nothing
  // the earliest place that is right. The earliest is also the best: it restricts later requests
  // least.
  void place_all() {
    std::vector<std::size_t> by_call, by_return;
    for (std::size_t i = 0; i < requests_.size(); ++i)
      if (requests_[i].answered || places_[i].known()) by_call.push_back(i);
    std::stable_sort(by_call.begin(), by_call.end(), [&](std::size_t a, std::size_t b) {
      return requests_[a].call < requests_[b].call;
    });
    for (const std::size_t i : by_call)
      if (requests_[i].answered) by_return.push_back(i);
    std::stable_sort(by_return.begin(), by_return.end(), [&](std::size_t a, std::size_t b) {
      return *requests_[a].answered < *requests_[b].answered;
    });
    mark_boundaries();
    note_successors(by_call);

    Bound passed{0};
    std::size_t returned = 0;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> last_on_connection;
    std::map<std::pair<std::uint64_t, std::int64_t>, std::size_t> last_of_client;
    const auto raise = [&](Bound& bound, std::size_t source) {
      if (places_[source].known() && places_[source].end > bound.version)
        bound = {places_[source].end, source};
    };
    for (const std::size_t i : by_call) {
      const RecordedRequest& request = requests_[i];
      for (; returned < by_return.size() && *requests_[by_return[returned]].answered < request.call;
           ++returned)
        raise(passed, by_return[returned]);
      Bound earliest = passed;
      if (const auto [before, first] =
              last_on_connection.try_emplace({request.run, request.connection}, i);
          !first) {
        check_connection(before->second, i);
        raise(earliest, std::exchange(before->second, i));
      }
      if (const auto [before, first] = last_of_client.try_emplace({request.run, request.client}, i);
          !first) {
        const RecordedRequest& previous = requests_[before->second];
        if (previous.answered && *previous.answered <= request.call)
          raise(earliest, before->second);
        before->second = i;
      }
      if (!places_[i].known())
        place(i, earliest);
      else if (places_[i].begin < earliest.version)
        find(i, "was committed as " + history::describe(commits_, places_[i].begin) + ", " +
                    too_late(i, earliest));
    }
  }

  // Returns a reason such as "before FILE:9, which …".
  std::string too_late(std::size_t request, const Bound& earliest) const {
    const RecordedRequest &later = requests_[request], &before = requests_[earliest.source];
    std::ostringstream text;
    text << "before that of " << before.line << " ("
         << history::describe(commits_, earliest.version - 1) << "), ";
    if (before.answered && *before.answered <= later.call)
      text << "whose reply came " << (later.call - *before.answered) << " ns before this was sent";
    else
      text << "which was sent earlier on the same connection";
    return text.str();
  }

  void check_connection(std::size_t before, std::size_t request) {
    const RecordedRequest &earlier = requests_[before], &later = requests_[request];
    if (later.answered && (!earlier.answered || *earlier.answered > *later.answered))
      find(request, "was answered before " + earlier.line +
                        ", which was sent before it on the same connection");
  }

  // Marks the versions between requests: no other request can come between the commits of one
  // request.
  void mark_boundaries() {
    boundary_.assign(commits_.size() + 1, 0);
    for (Version version = commits_.size() + 1; version-- > 0;) {
      const bool inside = version > 0 && version < commits_.size() &&
                          commits_[version].request != no_request &&
                          commits_[version].request == commits_[version - 1].request;
      boundary_[version] = inside ? boundary_[version + 1] : version;
    }
  }

  // Holds requests that changed something, by the time they were sent. For each it keeps the
  // earliest place of this request and all later ones.
  struct Successors {
    std::vector<std::pair<std::int64_t, Bound>> from;
    void add(std::int64_t call, Bound bound) { from.push_back({call, bound}); }
    void close() {
      for (std::size_t i = from.size(); i-- > 1;)
        if (from[i].second.version < from[i - 1].second.version)
          from[i - 1].second = from[i].second;
    }
    // Returns the earliest place of the requests sent at this time or later.
    Bound earliest(std::int64_t time) const {
      const auto found =
          std::lower_bound(from.begin(), from.end(), time,
                           [](const auto& one, std::int64_t t) { return one.first < t; });
      return found == from.end() ? Bound{no_version} : found->second;
    }
  };

  void note_successors(const std::vector<std::size_t>& by_call) {
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::int64_t> sent;
    for (const std::size_t i : by_call) {
      const RecordedRequest& request = requests_[i];
      const std::int64_t number = ++sent[{request.run, request.connection}];
      number_on_connection_[i] = number;
      if (!places_[i].known()) continue;
      const Bound bound{places_[i].begin, i};
      all_.add(request.call, bound);
      of_client_[{request.run, request.client}].add(request.call, bound);
      on_connection_[{request.run, request.connection}].add(number, bound);
    }
    all_.close();
    for (auto& [client, successors] : of_client_) successors.close();
    for (auto& [connection, successors] : on_connection_) successors.close();
  }

  // Returns the last version at which this request may be placed.
  Bound latest_of(std::size_t index) {
    const RecordedRequest& request = requests_[index];
    Bound latest{commits_.size()};
    for (const Bound& bound :
         {all_.earliest(*request.answered + 1),
          of_client_[{request.run, request.client}].earliest(*request.answered),
          on_connection_[{request.run, request.connection}].earliest(number_on_connection_[index] +
                                                                     1)})
      if (bound.version < latest.version) latest = bound;
    return latest;
  }

  // --- replies that changed nothing ---

  bool right_at(const RecordedRequest& request, Version version) {
    for (std::size_t element = 0; element < request.elements.size(); ++element)
      if (wanted_reply(request, element, nullptr, version) != request.replies[element])
        return false;
    return true;
  }

  // Returns the first version from `from` to `to` at which the model gives these replies.
  std::optional<Version> first_right(const RecordedRequest& request, Version from, Version to) {
    for (Version version = boundary_[from]; version <= to;) {
      if (right_at(request, version)) return version;
      const Version next = next_change(request, version);
      if (next >= boundary_.size()) return {};
      version = boundary_[next];
    }
    return {};
  }

  void place(std::size_t index, const Bound& earliest) {
    const RecordedRequest& request = requests_[index];
    places_[index] = {earliest.version, earliest.version};
    if (!comparable(index)) return;
    // Matching has already reported elements that were acknowledged as a change and have no commit.
    for (std::size_t element = 0; element < request.elements.size(); ++element)
      if (request.elements[element].command && acknowledges_change(request.replies[element]) &&
          !repeats_.contains({index, element}))
        return;
    verdict_.compared += request.elements.size();
    const Bound latest = latest_of(index);
    if (const auto found = first_right(request, earliest.version, latest.version)) {
      places_[index] = {*found, *found};
      ++verdict_.placed;
      return;
    }
    find(index, what_is_wrong(index, earliest, latest));
  }

  std::string what_is_wrong(std::size_t index, const Bound& earliest, const Bound& latest) {
    const RecordedRequest& request = requests_[index];
    std::size_t element = 0;
    const Version now = std::min(earliest.version, latest.version);
    while (element + 1 < request.elements.size() &&
           wanted_reply(request, element, nullptr, now) == request.replies[element])
      ++element;
    const std::string got = "got " + request.replies[element],
                      right = wanted_reply(request, element, nullptr, now);
    if (const auto old =
            earliest.version == 0 ? std::nullopt : first_right(request, 0, earliest.version - 1)) {
      Version until = *old;
      do until = next_change(request, until);
      while (until != no_version && right_at(request, until));
      return got + ": stale. It was so until " +
             (until == no_version ? "the end" : history::describe(commits_, until - 1)) +
             ", and this request comes later, as it may not stand " + too_late(index, earliest) +
             "; then " + right + " is right";
    }
    if (latest.version < commits_.size())
      if (const auto future = first_right(request, latest.version + 1, commits_.size()))
        return got + ", which is so only after " + where(*future) + ", but " +
               requests_[latest.source].line +
               ", which was sent after this reply had come or behind it on the same connection, "
               "was committed before (" +
               history::describe(commits_, latest.version) + ")";
    return got + ", which is so at no place of the commit order; right is " + right;
  }

  Version next_change(const RecordedRequest& request, Version version) const {
    Version next = no_version;
    for (const AskedElement& element : request.elements)
      if (element.command) next = std::min(next, model_.next_change(*element.command, version));
    return next;
  }

  void count() {
    verdict_.requests = requests_.size();
    verdict_.commits = commits_.size();
    verdict_.batches = journal_.size();
    verdict_.executions = model_.executions();
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (!requests_[i].answered) {
        ++verdict_.unanswered;
        verdict_.unanswered_but_committed += !commit_of_element_[i].empty();
      }
      for (const std::string& reply : requests_[i].replies)
        verdict_.not_compared +=
            reply.find(exchange::describe(Reason::reply_too_long)) != std::string::npos;
    }
  }

  const std::vector<RecordedRequest>& requests_;
  const std::vector<Batch>& journal_;
  const TradingChanges trading_changes_;
  std::vector<Commit> commits_;
  Repeats repeats_;
  std::vector<std::map<std::size_t, std::size_t>> commit_of_element_;  // of each request
  std::vector<Place> places_;                                          // of each request
  // the first version from each on that is inside no request
  std::vector<Version> boundary_;
  NaiveExchange model_;
  Successors all_;
  std::map<std::pair<std::uint64_t, std::int64_t>, Successors> of_client_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Successors> on_connection_;  // by number on it
  std::map<std::size_t, std::int64_t> number_on_connection_;
  Verdict verdict_;
};

}  // namespace

Verdict check(const std::vector<RecordedRequest>& requests, const std::vector<Batch>& journal,
              TradingChanges trading_changes) {
  return Checker(requests, journal, trading_changes).run();
}

}  // namespace exchange::history
