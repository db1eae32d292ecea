#include "history/inputs.hpp"

#include <nlohmann/json.hpp>

#include "audit/source.hpp"
#include "client/connection/results.hpp"
#include "protocol/reply.hpp"

namespace exchange::history {
namespace {

using Json = nlohmann::json;

void add(std::vector<Batch>& batches, const JournalRow& row) {
  if (row.batch != batches.size() + 1)
    throw Unusable("the journal has no batch " + std::to_string(batches.size() + 1) + " but has " +
                   std::to_string(row.batch) + ": was the server started with --keep-journal?");
  try {
    batches.push_back({row.batch, decode_journal_record(row.payload)});
  } catch (const StoreCorrupt& error) {
    throw Unusable("batch " + std::to_string(row.batch) + ": " + error.what());
  }
}

// Gives each new key a mark, since matching compares only whether a key exists.
void mark_keys(const std::vector<Credential>& credentials, std::vector<Command>& commands) {
  for (const Credential& credential : credentials)
    if (credential.use == Credential::Use::create)
      if (auto* const set = std::get_if<SetKey>(&commands[credential.first_command]))
        set->key.log2_n = 1;
}

}  // namespace

std::vector<Batch> read_journal(const std::string& store) try {
  const std::unique_ptr<audit::Source> source = audit::open_source(store);
  if (const std::string hidden = source->journal_hidden(); !hidden.empty()) throw Unusable(hidden);
  std::vector<Batch> batches;
  for (std::vector<JournalRow> rows; !(rows = source->journal(batches.size())).empty();)
    for (const JournalRow& row : rows) add(batches, row);
  return batches;
} catch (const audit::CannotRead& error) {
  throw Unusable(std::string("cannot read the journal: ") + error.what());
} catch (const std::invalid_argument& error) {
  throw Unusable(error.what());
}

void read_request(const std::string& document, RecordedRequest& request) {
  const auto text = std::make_shared<std::string>(document);
  text->push_back('\0');  // the byte after the document
  XmlDocument parsed;
  std::vector<RequestElement> elements;
  std::vector<Command> commands;
  std::vector<Credential> credentials;
  request.refusal = exchange::read_request(text->data(), document.size(), ProtocolLimits(), parsed,
                                           elements, commands, &credentials)
                        .error;
  mark_keys(credentials, commands);
  request.text = text;
  std::size_t read = 0;
  for (RequestElement& element : elements) {
    AskedElement& asked = request.elements.emplace_back();
    if (element.error.empty()) asked.command = std::move(commands[read++]);
    asked.element = std::move(element);
  }
}

std::string reply_to(const AskedElement& element, const Outcome& outcome) {
  std::string reply;
  append_outcome(reply, element.element, outcome);
  return reply;
}

bool read_reply(const std::string& document, std::vector<std::string>& elements) {
  client::ReplyElements parts(document);
  for (client::ReplyElement part; parts.next(part);) {
    const char* const begin = part.name.data() - 1;  // the '<'
    const char* end = part.attributes.data() + part.attributes.size();
    while (*end != '>') ++end;
    if (end[-1] != '/') {  // an element with content: up to the end of its end tag
      end = part.content.data() + part.content.size();
      while (*end != '>') ++end;
    }
    elements.emplace_back(begin, end + 1);
  }
  return parts.complete();
}

// Joins the replies to a cancel of all orders: they belong to one element.
void join_canceled(RecordedRequest& request) {
  const auto cancels_all = [](const AskedElement& element) {
    return element.command && std::holds_alternative<CancelAll>(*element.command);
  };
  const auto all = std::find_if(request.elements.begin(), request.elements.end(), cancels_all);
  if (all == request.elements.end()) return;
  if (std::find_if(std::next(all), request.elements.end(), cancels_all) != request.elements.end())
    throw Unusable(request.line +
                   ": two cancels of all orders in one request: which of the "
                   "canceled orders is whose, nothing shows");
  auto& replies = request.replies;
  const auto first = replies.begin() + (all - request.elements.begin());
  for (; replies.size() > request.elements.size(); replies.erase(first + 1)) *first += first[1];
}

void read_history(std::istream& in, const std::string& name, std::uint64_t& runs,
                  std::vector<RecordedRequest>& requests) {
  std::uint64_t number = 0;
  bool begun = false;
  for (std::string text; std::getline(in, text);) {
    ++number;
    const std::string line = name + ":" + std::to_string(number);
    try {
      const auto json = Json::parse(text);
      if (json.contains("history")) {
        if (json["history"] != 1) throw Unusable("this is a history of another version");
        ++runs;
        begun = true;
        continue;
      }
      if (!begun) throw Unusable("a history begins with its header line");
      RecordedRequest& request = requests.emplace_back();
      request.line = line;
      request.client = json.at("client");
      request.run = runs;
      request.connection = json.at("connection");
      request.call = json.at("call");
      read_request(json.at("request").get<std::string>(), request);
      if (json.at("return").is_null()) continue;
      request.answered = json.at("return").get<std::int64_t>();
      if (*request.answered < request.call) throw Unusable("a reply before its request");
      // treated like too few elements
      if (!read_reply(json.at("reply").get<std::string>(), request.replies))
        request.replies.clear();
      join_canceled(request);
    } catch (const Json::exception& error) {
      throw Unusable(line + ": " + error.what());
    } catch (const Unusable& error) {
      throw Unusable(line + ": " + error.what());
    }
  }
  if (!begun) throw Unusable(name + ": holds no history");
}

void read_events(std::istream& in, const std::string& name, std::vector<StreamEvent>& events) {
  std::string text;
  for (std::size_t line = 1; std::getline(in, text); ++line) {
    if (text.empty()) continue;
    const std::string place = name + ":" + std::to_string(line);
    const Json message = Json::parse(text, nullptr, false);
    if (message.is_discarded() && in.eof()) return;  // the client ended within its last line
    try {
      if (message.is_discarded()) throw Unusable(place + ": is not JSON");
      if (message.at("type") != "events") continue;
      for (const Json& event : message.at("events"))
        events.push_back({place, message.at("account"), event.at("number"), event.dump()});
    } catch (const Json::exception& error) {
      throw Unusable(place + ": is no message of /ws: " + error.what());
    }
  }
}

}  // namespace exchange::history
