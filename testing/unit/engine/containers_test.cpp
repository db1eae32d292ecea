// The engine's containers: lookups against those of the standard library, under random use, and
// arrays of pages.
#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/flat_map.hpp"
#include "engine/ids.hpp"
#include "engine/pool.hpp"
#include "engine/price_index.hpp"
#include "support.hpp"

using namespace exchange;

namespace {

// A PriceIndex and its expected content, changed together; every level is its own number.
class CheckedPriceIndex {
 public:
  void insert(std::int64_t rank) {
    if (!levels_.try_emplace(rank, next_).second) return;
    index_.insert(index_.find(rank), rank, next_++);
  }
  void erase(std::int64_t rank) {
    if (levels_.erase(rank) > 0) index_.erase(rank);
  }
  void erase_best() { erase(levels_.begin()->first); }
  // Returns some rank that is in the index, or 0.
  std::int64_t near(std::int64_t rank) const {
    const auto at = levels_.lower_bound(rank);
    return at == levels_.end() ? 0 : at->first;
  }
  void check_best() const {
    REQUIRE(index_.empty() == levels_.empty());
    if (levels_.empty()) return;
    REQUIRE(index_.best_rank() == levels_.begin()->first);
    REQUIRE(index_.best_level() == levels_.begin()->second);
  }
  void check_find(std::int64_t rank) const {
    const auto at = levels_.find(rank);
    REQUIRE(index_.find(rank).level == (at == levels_.end() ? no_index : at->second));
  }
  void check_all() const {
    check_best();
    std::vector<std::uint32_t> visited, expected;
    index_.for_each([&](std::uint32_t level) { visited.push_back(level); });
    for (const auto& [rank, level] : levels_) {
      expected.push_back(level);
      check_find(rank);
    }
    REQUIRE(visited == expected);
  }
  bool empty() const { return levels_.empty(); }
  std::size_t size() const { return levels_.size(); }

 private:
  PriceIndex index_;
  std::map<std::int64_t, std::uint32_t, std::greater<>> levels_;
  std::uint32_t next_ = 0;
};

constexpr std::uint32_t in_page = huge_page / sizeof(std::uint64_t);

// Has this number of pages, full of old bytes.
class SomePages final : public PageSource {
 public:
  explicit SomePages(std::size_t pages) : left(pages) {}
  MappedPages take_page() override {
    ++asked;
    if (left == 0) return {};
    --left;
    MappedPages page = map_huge_pages(1);
    std::memset(page.get(), 0xff, huge_page);
    return page;
  }

  std::size_t left, asked = 0;
};

}  // namespace

TEST_CASE("a price index keeps its levels in order under random use") {
  std::mt19937_64 random(test_seed());
  for (const std::int64_t width :
       {std::int64_t(50), std::int64_t(5'000), std::int64_t(1) << 40, INT64_MAX}) {
    CheckedPriceIndex index;
    const auto any_rank = [&] { return std::int64_t(random()) % width; };
    for (int i = 0; i < 30'000; ++i) {
      const bool growing = i % 10'000 < 6'000;
      const auto choice = random() % 10;
      if (choice < (growing ? 6 : 2))
        index.insert(any_rank());
      else if (choice < 7)
        index.erase(index.near(any_rank()));
      else if (choice < 8 && !index.empty())
        index.erase_best();
      else
        index.check_find(any_rank());
      index.check_best();
      if (i % 3'000 == 0) index.check_all();
    }
    index.check_all();
    while (!index.empty()) {
      index.erase_best();
      index.check_best();
    }
    index.insert(1);  // its spare blocks are clean
    index.check_all();
  }
}

TEST_CASE("a price index takes levels in rising, falling and alternating order") {
  const int pattern = GENERATE(0, 1, 2);
  CheckedPriceIndex index;
  for (std::int64_t i = 0; i < 2'000; ++i)
    index.insert(pattern == 0 ? i : pattern == 1 ? -i : i % 2 ? i : -i);
  index.check_all();
  for (std::int64_t i = 0; i < 2'000; i += 3)
    index.erase(pattern == 0 ? i : pattern == 1 ? -i : i % 2 ? i : -i);
  index.check_all();
  for (std::int64_t rank = -2'001; rank <= 2'001; ++rank) index.check_find(rank);
}

TEST_CASE("a price index holds the ends of the range of ranks") {
  CheckedPriceIndex index;
  for (std::int64_t i = 0; i < 100; ++i) {
    for (const std::int64_t rank : {INT64_MAX - i, INT64_MIN + i, i, -i}) index.insert(rank);
    index.check_best();
  }
  index.check_all();
  for (const std::int64_t rank : {INT64_MAX, INT64_MIN, std::int64_t(0)}) index.erase(rank);
  index.check_all();
  for (const std::int64_t rank : {INT64_MAX, INT64_MIN, std::int64_t(0)}) index.check_find(rank);
}

TEST_CASE("a flat map finds what was inserted and nothing else") {
  std::mt19937_64 random(test_seed());
  FlatMap<std::uint32_t> map(test_seed());
  std::unordered_map<std::uint64_t, std::uint32_t> expected;
  const auto any_key = [&]() -> std::uint64_t {
    switch (random() % 4) {
      case 0: return random() % 5'000;                         // dense
      case 1: return (random() % 100) << 32 | random() % 100;  // as position keys are
      case 2: return FlatMap<std::uint32_t>::key_max - random() % 100;
      default: return random();
    }
  };
  for (std::uint32_t i = 0; i < 50'000; ++i) {
    const std::uint64_t key = any_key();
    map.prefetch(key);
    const auto at = expected.find(key);
    const std::uint32_t* found = std::as_const(map).find(key);
    REQUIRE((found != nullptr) == (at != expected.end()));
    if (found != nullptr) {
      REQUIRE(*found == at->second);
      *map.find(key) = at->second = i;  // as the engine does with positions
      continue;
    }
    REQUIRE(map.insert(key, i) == i);
    expected.emplace(key, i);
  }
  for (const auto& [key, index] : expected) REQUIRE(*map.find(key) == index);
  std::size_t visited = 0;
  map.for_each([&](std::uint64_t key, std::uint32_t value) {
    ++visited;
    REQUIRE(expected.at(key) == value);
  });
  REQUIRE(visited == expected.size());
}

TEST_CASE("an id index finds ids given in sequence and forgotten in any order") {
  std::mt19937_64 random(test_seed());
  const std::uint64_t first = GENERATE(1, 1'023, 1'000'000'000);
  IdIndex ids;
  std::unordered_map<std::uint64_t, std::uint32_t> expected;
  std::vector<std::uint64_t> held;
  std::uint64_t next = first;
  for (int i = 0; i < 60'000; ++i) {
    const bool growing = i % 20'000 < 12'000;
    if (random() % 10 < (growing ? 7 : 3)) {
      const auto index = std::uint32_t(random() % no_index);
      ids.insert(next, index);
      expected.emplace(next, index);
      held.push_back(next++);
    } else if (!held.empty()) {
      std::swap(held[random() % held.size()], held.back());
      ids.erase(held.back());
      expected.erase(held.back());
      held.pop_back();
    }
    const std::uint64_t id = first + random() % (next - first + 3) - 1;
    const auto at = expected.find(id);
    ids.prefetch(id);
    REQUIRE(ids.find(id) == (at == expected.end() ? no_index : at->second));
    REQUIRE(ids.size() == expected.size());
  }
  for (std::uint64_t id = first; id < next; ++id)
    REQUIRE(ids.find(id) == (expected.count(id) != 0 ? expected[id] : no_index));
  for (const std::uint64_t id : {std::uint64_t(0), next + 5'000'000, UINT64_MAX}) {
    ids.prefetch(id);
    CHECK(ids.find(id) == no_index);
  }
}

TEST_CASE("an interner gives dense numbers in order of arrival and distinguishes similar texts") {
  std::mt19937_64 random(test_seed());
  Interner<AccountId> interner(test_seed());
  std::map<std::string, std::uint32_t> expected;
  for (int i = 0; i < 30'000; ++i) {
    // many share long runs of zeros
    std::string text(random() % 4 == 0 ? random() % 65 : random() % 5, '0');
    for (auto digits = random() % 5; digits > 0 && !text.empty(); --digits)
      text[random() % text.size()] = char('0' + random() % 10);
    const auto at = expected.find(text);
    REQUIRE(interner.find(AccountId(text)) == (at == expected.end() ? no_index : at->second));
    if (at != expected.end()) continue;
    REQUIRE(interner.add(AccountId(text)) == expected.size());
    expected.emplace(text, std::uint32_t(expected.size()));
  }
  REQUIRE(interner.size() == expected.size());
  for (const auto& [text, number] : expected) {
    REQUIRE(interner.find(AccountId(text)) == number);
    REQUIRE(interner.text(number).view() == text);
  }
}

TEST_CASE(
    "a pool keeps its items in place while it grows, and reuses the newest freed slot first") {
  std::mt19937_64 random(test_seed());
  Pool<std::uint64_t> pool;
  // address and value by index
  std::map<std::uint32_t, std::pair<std::uint64_t*, std::uint64_t>> expected;
  std::vector<std::uint32_t> freed;
  for (int i = 0; i < 150'000; ++i) {
    if (random() % 10 < 8 || expected.empty()) {
      const std::uint32_t index = pool.allocate();
      if (!freed.empty()) {
        REQUIRE(index == freed.back());
        freed.pop_back();
      }
      pool[index] = random();
      REQUIRE(expected.emplace(index, std::pair(&pool[index], pool[index])).second);
    } else {
      auto at = expected.lower_bound(std::uint32_t(random() % (expected.rbegin()->first + 1)));
      pool.release(at->first);
      freed.push_back(at->first);
      expected.erase(at);
    }
    REQUIRE(pool.used() == expected.size());
  }
  REQUIRE(expected.rbegin()->first > 2 * 32'768);  // it spans several chunks
  for (const auto& [index, item] : expected) {
    REQUIRE(&pool[index] == item.first);
    REQUIRE(pool[index] == item.second);
  }
}

TEST_CASE("an array takes pages from a source while it has any") {
  SomePages pages(1);
  PageArray<std::uint64_t> array;
  array.take_pages_from(pages);
  CHECK(array.grow_to(0) == UINT64_MAX);
  CHECK(array[in_page - 1] == UINT64_MAX);
  CHECK(array.grow_to(in_page) == 0);  // the source has no pages left
  CHECK(pages.asked == 2);
}

TEST_CASE("an array keeps what is in it when it moves") {
  SomePages pages(1'000);
  PageArray<std::uint64_t> array;
  std::vector<const void*> places;
  for (std::uint32_t page = 0; page < 120; ++page) {
    if (page == 10) array.take_pages_from(pages);
    if (page == 50) pages.left = 0;
    array.grow_to(page * in_page) = page;
    array[page * in_page + in_page - 1] = page + 1'000;
    places.push_back(&array[0]);
    for (std::uint32_t before = 0; before <= page; ++before) {
      REQUIRE(array[before * in_page] == before);
      REQUIRE(array[before * in_page + in_page - 1] == before + 1'000);
    }
  }
  CHECK(pages.asked == 110);
  CHECK(reinterpret_cast<std::uintptr_t>(places.back()) % huge_page == 0);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  CHECK(places.size() == 10);  // 8, 16, 24, 32, 40, 50, 62, 77, 96 and 120 pages
}

TEST_CASE("indices may grow over several pages at once, and items over the end of one") {
  struct Item {
    char bytes[40];
  };
  PageArray<Item> array;
  array.grow_to(3 * huge_page / sizeof(Item)).bytes[39] = 1;
  CHECK(array[huge_page / sizeof(Item)].bytes[39] == 0);
}

TEST_CASE_METHOD(TwoTraders, "an exchange works in pages that hold old bytes") {
  SomePages pages(100);
  engine.take_pages_from(pages);
  sell("1", 10, 100);
  CHECK(pages.asked == 3);  // an order, its history, a level
  buy("2", 4, 100);
  CHECK(pages.asked == 4);  // an execution
  CHECK(engine.check_invariants() == "");
}
