#include "core/spare_pages.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "support/wait_for.hpp"

using namespace exchange;

namespace {

const OnFatal fail = [](const std::string& error) { throw std::logic_error(error); };

bool is_resident(char* page) {
  std::vector<unsigned char> resident(huge_page / 4'096);
  REQUIRE(mincore(page, huge_page, resident.data()) == 0);
  return std::all_of(resident.begin(), resident.end(), [](unsigned char one) { return one & 1; });
}

}  // namespace

TEST_CASE("pages are made ready from the first one taken on, and again for each one taken") {
  SparePages spare(2, fail);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(spare.take_page());
  std::vector<MappedPages> taken;
  while (taken.size() < 4) {
    MappedPages page;
    REQUIRE(wait_for([&] { return bool(page = spare.take_page()); }));
    taken.push_back(std::move(page));
  }
  for (const MappedPages& page : taken) {
    REQUIRE(page);
    CHECK(std::uintptr_t(page.get()) % huge_page == 0);
    CHECK(is_resident(page.get()));
    CHECK(std::count(taken.begin(), taken.end(), page) == 1);
  }
}

TEST_CASE("two threads take different pages") {
  SparePages spare(3, fail);
  std::vector<MappedPages> taken[2];
  std::thread threads[2];
  for (int i = 0; i < 2; ++i)
    threads[i] = std::thread([&, i] {
      wait_for([&] {
        if (MappedPages page = spare.take_page()) taken[i].push_back(std::move(page));
        return taken[i].size() == 20;
      });
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(taken[0].size() == 20);
  CHECK(taken[1].size() == 20);
  for (const MappedPages& page : taken[0])
    CHECK(std::count(taken[1].begin(), taken[1].end(), page) == 0);
}
