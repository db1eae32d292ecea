#include "history/matching.hpp"

#include <algorithm>
#include <unordered_map>

#include "model/print.hpp"

namespace exchange::history {
namespace {

// Returns equal keys for equal commands: all that the journal keeps of a command, except a key's
// hash.
std::string key_of(Command command) {
  if (auto* const create = std::get_if<CreateAccount>(&command)) create->key = {};
  if (auto* const set = std::get_if<SetKey>(&command))
    set->key = {.log2_n = std::uint8_t(set->key.has_key())};
  return print(command);
}

std::optional<OrderId> id_of(const std::string& element) {
  const std::size_t at = element.find(" id=\"");
  if (at == std::string::npos) return {};
  return parse_order_id(
      std::string_view(element).substr(at + 5, element.find('"', at + 5) - at - 5));
}

bool is_of_timetable(const Command& command) {
  const auto* const set = std::get_if<SetInstrument>(&command);
  return set != nullptr && set->symbol &&
         *set == SetInstrument{.symbol = set->symbol, .trading = set->trading};
}

// Returns whether the server itself makes this command, without a request.
bool is_of_server(const Command& command, TradingChanges trading_changes) {
  const auto* const cancel = std::get_if<CancelOrder>(&command);
  return std::holds_alternative<RecordEvents>(command) ||
         (cancel != nullptr && cancel->at_disconnect) ||
         (trading_changes == TradingChanges::of_timetable && is_of_timetable(command));
}

class Matcher {
 public:
  Matcher(const std::vector<RecordedRequest>& requests, std::vector<Commit>& commits,
          TradingChanges trading_changes, std::vector<Finding>& findings)
      : requests_(requests),
        commits_(commits),
        trading_changes_(trading_changes),
        findings_(findings) {
    keys_.reserve(commits.size());
    for (std::size_t i = 0; i < commits.size(); ++i) {
      keys_.push_back(key_of(commits[i].command));
      by_key_[keys_.back()].push_back(i);
      if (commits[i].order != 0) by_order_[commits[i].order] = i;
    }
  }

  Repeats run() {
    find_repeats();
    std::vector<std::size_t> answered, unanswered;
    for (std::size_t i = 0; i < requests_.size(); ++i)
      (requests_[i].replies.empty() ? unanswered : answered).push_back(i);
    // Requests without an anchor, which other requests may equal, come last. In the order of their
    // replies, each takes the first remaining commit that real time allows after those before it,
    // so that an equal request that was never answered keeps its own commit.
    const auto anchored = [&](std::size_t i) { return anchor(i, accepted(i)).has_value(); };
    const auto rest = std::stable_partition(answered.begin(), answered.end(), anchored);
    std::stable_sort(rest, answered.end(), [&](std::size_t a, std::size_t b) {
      return requests_[a].answered < requests_[b].answered;
    });
    std::for_each(answered.begin(), rest, [&](std::size_t i) { take_answered(i); });
    note_times();
    std::for_each(rest, answered.end(), [&](std::size_t i) {
      take_answered(i);
      note_time(i);
    });
    std::stable_sort(unanswered.begin(), unanswered.end(), [&](std::size_t a, std::size_t b) {
      return requests_[a].call < requests_[b].call;
    });
    take_unanswered(unanswered);
    return std::move(repeats_);
  }

 private:
  using Elements = std::vector<std::size_t>;

  // An order with a reference may be sent again: each request gets the same reply, but only one
  // commit exists. It may belong to any of them; the first that was sent takes it, since its time
  // span is the widest.
  void find_repeats() {
    struct Sent {
      std::size_t request, element;
    };
    std::unordered_map<std::string, std::vector<Sent>> by_key;
    for (std::size_t request = 0; request < requests_.size(); ++request)
      for (std::size_t at = 0; at < requests_[request].elements.size(); ++at) {
        const auto& command = requests_[request].elements[at].command;
        const auto* order = command ? std::get_if<PlaceOrder>(&*command) : nullptr;
        if (order && order->reference) by_key[key_of(*command)].push_back({request, at});
      }
    for (std::size_t commit = 0; commit < commits_.size(); ++commit) {
      const auto same = by_key.find(keys_[commit]);
      if (same == by_key.end()) continue;
      const Sent* first = nullptr;
      const auto may_be = [&](const Sent& sent) {
        const auto& replies = requests_[sent.request].replies;
        return replies.empty() || (sent.element < replies.size() &&
                                   id_of(replies[sent.element]) == commits_[commit].order);
      };
      for (const Sent& sent : same->second)
        if (may_be(sent) &&
            (!first || requests_[sent.request].call < requests_[first->request].call))
          first = &sent;
      for (const Sent& sent : same->second)
        if (may_be(sent) && &sent != first) repeats_.insert({sent.request, sent.element});
    }
  }

  // Returns the elements that replies acknowledged as changes.
  Elements accepted(std::size_t request) const {
    Elements elements;
    const auto& [asked, replies] =
        std::tie(requests_[request].elements, requests_[request].replies);
    for (std::size_t i = 0; i < std::min(asked.size(), replies.size()); ++i)
      if (asked[i].command && acknowledges_change(replies[i]) && !repeats_.contains({request, i}))
        elements.push_back(i);
    return elements;
  }

  // Finds the first element that only one commit can belong to. Returns where the request's commits
  // begin if they stand together.
  std::optional<std::size_t> anchor(std::size_t request, const Elements& elements) const {
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const auto commit = only_commit(request, elements[i]);
      if (commit && *commit >= i) return *commit - i;
    }
    return {};
  }

  std::optional<std::size_t> only_commit(std::size_t request, std::size_t element) const {
    const Command& command = *requests_[request].elements[element].command;
    if (std::holds_alternative<PlaceOrder>(command)) {
      const auto id = id_of(requests_[request].replies[element]);
      const auto order = id ? by_order_.find(*id) : by_order_.end();
      return order != by_order_.end() ? std::optional(order->second) : std::nullopt;
    }
    const auto found = by_key_.find(key_of(command));
    return found != by_key_.end() && found->second.size() == 1
               ? std::optional(found->second.front())
               : std::nullopt;
  }

  bool fits(std::size_t request, std::size_t element, std::size_t commit) const {
    if (commit >= commits_.size() || commits_[commit].request != no_request) return false;
    if (keys_[commit] != key_of(*requests_[request].elements[element].command)) return false;
    return commits_[commit].order == 0 || requests_[request].replies.empty() ||
           id_of(requests_[request].replies[element]) == commits_[commit].order;
  }

  bool fits_together(std::size_t request, const Elements& elements, std::size_t first) const {
    for (std::size_t i = 0; i < elements.size(); ++i)
      if (!fits(request, elements[i], first + i)) return false;
    return true;
  }

  void own(std::size_t request, std::size_t element, std::size_t commit) {
    commits_[commit].request = request;
    commits_[commit].element = element;
    std::size_t& last = last_of_[request];
    last = std::max(last, commit);
  }

  void take_answered(std::size_t request) {
    const Elements elements = accepted(request);
    if (elements.empty()) return;
    std::size_t first = anchor(request, elements).value_or(no_request);
    if (first == no_request || !fits_together(request, elements, first)) {
      // Prefers, among equal commands, one whose outcome equals this reply.
      first = first_fit(request, elements, earliest(request), latest(request), true);
      if (first == no_request)
        first = first_fit(request, elements, earliest(request), latest(request), false);
      // contradicts real time, which the check will report
      if (first == no_request) first = first_fit(request, elements, 0, commits_.size(), false);
    }
    if (first == no_request) return take_one_by_one(request, elements);
    for (std::size_t i = 0; i < elements.size(); ++i) own(request, elements[i], first + i);
    if (commits_[first].batch != commits_[first + elements.size() - 1].batch)
      report(request, "its commands were committed in more than one batch");
  }

  // Searches the commits from `begin` to before `end`: with outcomes that equal the replies, or
  // any.
  std::size_t first_fit(std::size_t request, const Elements& elements, std::size_t begin,
                        std::size_t end, bool with_replies) const {
    const auto same = by_key_.find(key_of(*requests_[request].elements[elements.front()].command));
    if (same == by_key_.end()) return no_request;
    for (auto commit = std::lower_bound(same->second.begin(), same->second.end(), begin);
         commit != same->second.end() && *commit < end; ++commit)
      if (fits_together(request, elements, *commit) &&
          (!with_replies || replies_fit(request, elements, *commit)))
        return *commit;
    return no_request;
  }

  bool replies_fit(std::size_t request, const Elements& elements, std::size_t first) const {
    const RecordedRequest& asked = requests_[request];
    for (std::size_t i = 0; i < elements.size(); ++i)
      if (asked.replies[elements[i]] !=
          reply_to(asked.elements[elements[i]], commits_[first + i].outcome))
        return false;
    return true;
  }

  // Notes when the requests whose commits are known were sent and answered.
  void note_times() {
    for (std::size_t commit = 0; commit < commits_.size(); ++commit)
      if (commits_[commit].request != no_request) {
        const RecordedRequest& request = requests_[commits_[commit].request];
        returned_.push_back({*request.answered, commit + 1});
        sent_.push_back({request.call, commit});
      }
    std::sort(returned_.begin(), returned_.end());
    for (std::size_t i = 1; i < returned_.size(); ++i)
      returned_[i].second = std::max(returned_[i].second, returned_[i - 1].second);
    std::sort(sent_.begin(), sent_.end());
    for (std::size_t i = sent_.size(); i-- > 1;)
      sent_[i - 1].second = std::min(sent_[i - 1].second, sent_[i].second);
  }

  // Notes the same for one of the remaining requests. They come in the order of their replies: all
  // that were answered before one was sent have come before it.
  void note_time(std::size_t request) {
    const auto last = last_of_.find(request);
    if (last == last_of_.end()) return;
    const std::size_t before = returned_rest_.empty() ? 0 : returned_rest_.back().second;
    returned_rest_.push_back({*requests_[request].answered, std::max(before, last->second + 1)});
  }

  // Returns the first commit after all requests that were answered before this one was sent.
  std::size_t earliest(std::size_t request) const {
    std::size_t behind = 0;
    for (const auto* const returned : {&returned_, &returned_rest_}) {
      const auto after = std::lower_bound(returned->begin(), returned->end(),
                                          std::pair(requests_[request].call, std::size_t(0)));
      if (after != returned->begin()) behind = std::max(behind, std::prev(after)->second);
    }
    return behind;
  }

  // Returns the end of the commits before all requests that were sent after this one was answered.
  std::size_t latest(std::size_t request) const {
    const auto after = std::upper_bound(sent_.begin(), sent_.end(),
                                        std::pair(*requests_[request].answered, no_request));
    return after == sent_.end() ? commits_.size() : after->second;
  }

  void take_one_by_one(std::size_t request, const Elements& elements) {
    bool all = true;
    for (const std::size_t element : elements) all &= take_one(request, element);
    if (all) report(request, "its commands do not stand together in the journal");
  }

  bool take_one(std::size_t request, std::size_t element) {
    const RecordedRequest& asked = requests_[request];
    const std::string got = "got " + asked.replies[element];
    if (const auto same = by_key_.find(key_of(*asked.elements[element].command));
        same != by_key_.end()) {
      for (const std::size_t commit : same->second)
        if (fits(request, element, commit)) {
          own(request, element, commit);
          return true;
        }
    }
    const auto commit = only_commit(request, element);
    if (!commit)
      report(request, got + ", but the journal does not have it: an acknowledged command is lost");
    else if (commits_[*commit].request != no_request &&
             keys_[*commit] == key_of(*asked.elements[element].command))
      report(request, got + ", as was " + requests_[commits_[*commit].request].line +
                          " for the same commit: " + describe(commits_, *commit));
    else
      report(request,
             got + ", but the journal has something else there: " + describe(commits_, *commit));
    return false;
  }

  // A request without a reply was executed as a whole or not at all. Each unexplained commit goes
  // to the request that explains the most commits.
  void take_unanswered(const std::vector<std::size_t>& unanswered) {
    // in the order of sending
    std::unordered_map<std::string, std::vector<std::size_t>> askers;
    for (const std::size_t request : unanswered)
      for (const AskedElement& element : requests_[request].elements)
        if (element.command) {
          std::vector<std::size_t>& same = askers[key_of(*element.command)];
          if (same.empty() || same.back() != request) same.push_back(request);
        }
    std::vector<bool> used(requests_.size());
    for (std::size_t commit = 0; commit < commits_.size(); ++commit) {
      if (commits_[commit].request != no_request ||
          is_of_server(commits_[commit].command, trading_changes_))
        continue;
      Elements best;
      std::size_t best_request = no_request;
      for (const std::size_t request : askers[keys_[commit]]) {
        if (used[request]) continue;
        const Elements elements = executed(request, commit);
        if (elements.size() <= best.size()) continue;
        best = elements;
        best_request = request;
      }
      if (best_request == no_request && take_as_repeat(commit)) continue;
      if (best_request == no_request) {
        findings_.push_back({"", describe(commits_, commit) + ": no request asked for this"});
        continue;
      }
      used[best_request] = true;
      for (std::size_t i = 0; i < best.size(); ++i) own(best_request, best[i], commit + i);
    }
  }

  // Assigns the commit to a repeated order: its first sending was refused, or never arrived.
  bool take_as_repeat(std::size_t commit) {
    for (const auto& [request, element] : repeats_)
      if (keys_[commit] == key_of(*requests_[request].elements[element].command) &&
          id_of(requests_[request].replies[element]) == commits_[commit].order) {
        own(request, element, commit);
        repeats_.erase({request, element});
        return true;
      }
    return false;
  }

  // Returns the elements that made the commits from this one on, if the request was executed there.
  // The elements between them were refused.
  Elements executed(std::size_t request, std::size_t commit) const {
    Elements elements;
    const std::size_t first = commit;
    for (std::size_t element = 0; element < requests_[request].elements.size(); ++element)
      if (requests_[request].elements[element].command && fits(request, element, commit) &&
          commits_[commit].batch == commits_[first].batch) {
        elements.push_back(element);
        ++commit;
      }
    return elements;
  }

  void report(std::size_t request, const std::string& sentence) {
    findings_.push_back({requests_[request].line, sentence});
  }

  const std::vector<RecordedRequest>& requests_;
  std::vector<Commit>& commits_;
  const TradingChanges trading_changes_;
  std::vector<Finding>& findings_;
  std::vector<std::string> keys_;  // of each commit
  std::unordered_map<std::string, std::vector<std::size_t>> by_key_;
  std::unordered_map<OrderId, std::size_t> by_order_;  // by the id that it got
  Repeats repeats_;
  // By time, for requests whose commits are known. What was sent later than the time in returned_
  // stands behind its commit; what was answered before the time in sent_ stands before its commit.
  std::vector<std::pair<std::int64_t, std::size_t>> returned_, returned_rest_, sent_;
  std::unordered_map<std::size_t, std::size_t> last_of_;  // by request: its last commit
};

}  // namespace

std::string_view element_name(const std::string& element) {
  const std::size_t end = element.find_first_of(" />", 1);
  return std::string_view(element).substr(1, end - 1);
}

bool acknowledges_change(const std::string& element) {
  const std::string_view name = element_name(element);
  return name == "created" || name == "opened" || name == "canceled" || name == "replaced";
}

std::vector<Commit> commits_of(const std::vector<Batch>& journal) {
  std::vector<Commit> commits;
  OrderId numbers = 0;  // of orders and of replaces
  for (const Batch& batch : journal)
    for (const Command& command : batch.record.commands) {
      const bool opens = std::holds_alternative<PlaceOrder>(command);
      numbers += opens || std::holds_alternative<ReplaceOrder>(command);
      commits.push_back({command, batch.record.time, batch.number, opens ? numbers : 0});
    }
  return commits;
}

std::string describe(const std::vector<Commit>& commits, std::size_t commit) {
  std::size_t first = commit;
  while (first > 0 && commits[first - 1].batch == commits[commit].batch) --first;
  const Commit& one = commits[commit];
  return "batch " + std::to_string(one.batch) + ", command " + std::to_string(commit - first + 1) +
         " (" + (one.order ? "order " + std::to_string(one.order) + ": " : "") +
         key_of(one.command) + ")";
}

Repeats match(const std::vector<RecordedRequest>& requests, std::vector<Commit>& commits,
              TradingChanges trading_changes, std::vector<Finding>& findings) {
  return Matcher(requests, commits, trading_changes, findings).run();
}

}  // namespace exchange::history
