#include "client/classroom/pseudonyms.hpp"

#include <array>

namespace exchange::classroom {
namespace {

constexpr std::array colours{"Amber",  "Azure",  "Black",  "Blue",  "Bronze", "Brown",  "Copper",
                             "Coral",  "Cream",  "Gold",   "Green", "Grey",   "Indigo", "Ivory",
                             "Jade",   "Lilac",  "Lime",   "Mint",  "Orange", "Pearl",  "Pink",
                             "Plum",   "Purple", "Red",    "Ruby",  "Rust",   "Silver", "Teal",
                             "Violet", "White",  "Yellow", "Zinc"};
constexpr std::array animals{
    "Badger", "Bear",  "Beaver", "Bison", "Crane",  "Crow",   "Deer",  "Dolphin", "Eagle", "Falcon",
    "Ferret", "Finch", "Fox",    "Gecko", "Goose",  "Hare",   "Hawk",  "Heron",   "Horse", "Ibex",
    "Koala",  "Lemur", "Lion",   "Lynx",  "Marten", "Moose",  "Otter", "Owl",     "Panda", "Raven",
    "Seal",   "Stork", "Swan",   "Tiger", "Turtle", "Walrus", "Whale", "Wolf",    "Wren",  "Zebra"};

}  // namespace

std::string new_pseudonym(std::set<std::string>& taken, std::random_device& random) {
  // Adds a number once more than half of the names are taken.
  const std::size_t all = colours.size() * animals.size();
  for (;;) {
    std::string name =
        std::string(colours[random() % colours.size()]) + " " + animals[random() % animals.size()];
    if (taken.size() > all / 2) name += " " + std::to_string(random() % (4 * taken.size()));
    if (taken.insert(name).second) return name;
  }
}

}  // namespace exchange::classroom
