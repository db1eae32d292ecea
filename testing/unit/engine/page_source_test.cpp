#include <cstring>
#include <vector>

#include "catch.hpp"
#include "engine/pool.hpp"
#include "support.hpp"

using namespace exchange;

namespace {

// Has so many pages, full of old bytes.
class SomePages final : public PageSource {
 public:
  explicit SomePages(std::size_t pages) : left_(pages) {}
  void* take_page() override {
    ++asked;
    if (left_ == 0) return nullptr;
    --left_;
    taken.push_back(allocate_huge_pages(huge_page));
    std::memset(taken.back(), 0xff, huge_page);
    return taken.back();
  }

  std::size_t asked = 0;
  std::vector<void*> taken;

 private:
  std::size_t left_;
};

}  // namespace

TEST_CASE("chunks come from a page source while it has pages") {
  SomePages pages(1);
  Chunks<std::uint64_t> small;
  small.take_pages_from(pages);
  constexpr std::uint32_t in_chunk = huge_page / 8;
  const void* const first = &small.grow_to(0);
  REQUIRE(pages.taken.size() == 1);
  CHECK(first == pages.taken[0]);
  small.grow_to(in_chunk) = 7;  // the source has none left
  CHECK(pages.asked == 2);
  CHECK(pages.taken.size() == 1);
  CHECK(small[in_chunk] == 7);
}

TEST_CASE_METHOD(TwoTraders, "an exchange works in pages that hold old bytes") {
  SomePages pages(100);
  engine.take_pages_from(pages);
  sell("1", 10, 100);
  CHECK(pages.taken.size() == 3);  // an order, its history, a level
  buy("2", 4, 100);
  CHECK(pages.taken.size() == 4);  // an execution
  CHECK(engine.check_invariants() == "");
}
