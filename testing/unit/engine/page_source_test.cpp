#include <algorithm>
#include <cstring>
#include <vector>

#include "catch.hpp"
#include "engine/pool.hpp"
#include "support.hpp"

using namespace exchange;

namespace {

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
