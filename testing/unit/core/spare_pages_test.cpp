#include "core/spare_pages.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "catch.hpp"
#include "support/wait_for.hpp"

using namespace exchange;

namespace {

const OnFatal fail = [](const std::string& error) { throw std::logic_error(error); };

struct Free {
  void operator()(void* page) const { std::free(page); }
};
using Page = std::unique_ptr<void, Free>;

bool is_resident(void* page) {
  std::vector<unsigned char> resident(huge_page / 4'096);
  REQUIRE(mincore(page, huge_page, resident.data()) == 0);
  return std::all_of(resident.begin(), resident.end(), [](unsigned char one) { return one & 1; });
}

}  // namespace

TEST_CASE("pages are made ready from the first one taken on, and again for each one taken") {
  SparePages spare(2, fail);
  CHECK(spare.take_page() == nullptr);
  for (int round = 0; round < 3; ++round) {
    wait_for([&] { return spare.ready() == 2; });
    const Page page(spare.take_page());
    REQUIRE(page);
    CHECK(std::uintptr_t(page.get()) % huge_page == 0);
    CHECK(is_resident(page.get()));
  }
}
