#include "history/history_file.hpp"

#include <nlohmann/json.hpp>

#include "client/connection/results.hpp"
#include "protocol/reply.hpp"

namespace exchange::history {
namespace {

// Gives each new key a mark, since matching compares only whether a key exists.
void mark_keys(const std::vector<Credential>& credentials, std::vector<Command>& commands) {
  for (const Credential& credential : credentials)
    if (credential.use == Credential::Use::create)
      if (auto* const set = std::get_if<SetKey>(&commands[credential.first_command]))
        set->key.log2_n = 1;
}

}  // namespace

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
      const auto json = nlohmann::json::parse(text);
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
    } catch (const nlohmann::json::exception& error) {
      throw Unusable(line + ": " + error.what());
    } catch (const Unusable& error) {
      throw Unusable(line + ": " + error.what());
    }
  }
  if (!begun) throw Unusable(name + ": holds no history");
}

}  // namespace exchange::history
