#include "websocket/messages.hpp"

#include "base/text.hpp"

namespace exchange {
namespace {

// The kind "executed_maker" is the event "executed" with the role "maker"; "canceled_stp" is the
// event "canceled" with the reason "stp".
Json event_json(const MarketView& view, const EventRow& row) {
  using Kind = EventKind;
  const std::string_view kind = to_string(row.kind), event = kind.substr(0, kind.find('_'));
  const bool executed = event == "executed", canceled = event == "canceled",
             of_symbol = row.kind != Kind::began && event != "cash";
  Json json{{"number", row.number}, {"event", executed || canceled ? event : kind}};
  if (row.order != 0) {
    json["order"] = row.order;
    if (row.reference) json["ref"] = row.reference->view();
  }
  if (of_symbol) json["symbol"] = view.symbols()[row.symbol].name.view();
  if (row.order != 0) json["side"] = to_string(row.side);
  if (of_symbol) json["shares"] = to_string(row.shares);
  if (row.order != 0) {
    if (executed)
      json["price"] = to_string(row.price);
    else
      json["limit"] = row.price == Price() ? Json() : Json(to_string(row.price));
    json["open"] = to_string(row.open);
  }
  if (executed) {
    json["execution"] = row.execution;
    json["role"] = kind.substr(event.size() + 1);
  }
  if (canceled) json["reason"] = kind.substr(event.size() + 1);
  json["balance"] = to_string(row.balance);
  if (of_symbol) json["position"] = to_string(row.position);
  json["batch"] = row.batch;
  json["time_us"] = row.time.microseconds;
  return json;
}

}  // namespace

std::string snapshot_message(const MarketView::Symbol& symbol, std::size_t level_count,
                             std::size_t trades) {
  Document document;
  document.add("type", "snapshot");
  add_book(document, symbol, symbol.sequence, symbol.levels, level_count);
  add_newest_trades(document, symbol, trades);
  return document.text();
}

std::string update_message(const MarketView::Symbol& symbol, const MarketView::Change& change) {
  Document document;
  document.add("type", "update");
  add_book(document, symbol, change.sequence, change.levels, SIZE_MAX);
  add_trades(document, change.trades);
  return document.text();
}

std::string write_update(const MarketView& view, const AccountEvents::Update& update,
                         const GatewayLimits& limits) {
  using Kind = AccountEvents::Update::Kind;
  const auto& [kind, account, state, from, events] = update;
  if (kind == Kind::key_changed)
    return error_message("the key of the account was changed or revoked; subscribe with its key",
                         "key_changed", account.view());
  Document document;
  document.add("type", kind == Kind::snapshot ? "account" : to_string(kind));
  switch (kind) {
    case Kind::snapshot:
      document.add("number", state.events)
          .add("batch", view.batch())
          .add("newest_execution", view.newest_execution());
      add_account(document, view, account, state,
                  {limits.snapshot_lines_max, limits.snapshot_lines_max});
      break;
    case Kind::subscribed:
      document.add("account", account.view()).add("from", from).add("newest", state.events);
      add_rules(document, view, state);
      break;
    case Kind::rules:
      document.add("account", account.view());
      add_rules(document, view, state);
      break;
    case Kind::events:
      document.add("account", account.view());
      document.add_list("events", [&, &rows = events](auto add) {
        for (const EventRow& row : rows) add(event_json(view, row));
      });
      break;
    case Kind::key_changed: break;
  }
  return document.text();
}

std::string unsubscribed_message(std::string_view member, std::string_view value) {
  return json_text({{"type", "unsubscribed"}, {std::string(member), value}});
}

std::string error_message(std::string_view sentence, std::string_view code,
                          std::string_view account) {
  Json message{{"type", "error"}};
  if (!account.empty()) message["account"] = account;
  message["error"] = sentence;
  message["code"] = code;
  return json_text(message);
}

SubscriberRequest read_subscriber_request(const JsonInput& json) {
  using Kind = SubscriberRequest::Kind;
  const SubscriberRequest unknown{Kind::unknown};
  if (!json.is_object() || json.members().size() != 1) return unknown;
  const auto& [verb, asked] = json.members().front();
  SubscriberRequest request{verb == "subscribe"     ? Kind::subscribe
                            : verb == "unsubscribe" ? Kind::unsubscribe
                                                    : Kind::unknown};
  if (asked.is_text()) {
    request.name = asked.text();
    return request;
  }
  if (asked.find("account") == nullptr) return unknown;
  request.of_account = true;
  for (const auto& [name, value] : asked.members()) {
    if (name == "account" && value.is_text()) {
      request.name = value.text();
    } else if (name == "key" && value.is_text() && request.kind == Kind::subscribe) {
      request.key = value.text();
    } else if (name == "from" && value.is(JsonInput::Kind::integer) &&
               request.kind == Kind::subscribe) {
      request.from = parse_number<EventNumber>(value.text());
      if (!request.from || *request.from == 0) return unknown;
    } else {
      return unknown;
    }
  }
  return request;
}

}  // namespace exchange
