#pragma once
// Uses of what Boost.Describe knows about a struct or an enumeration. A struct is described where
// it is defined; everything else (names, codecs, columns) follows from that.
//   struct Point { int x, y; };
//   BOOST_DESCRIBE_STRUCT(Point, (), (x, y))
//   for_each_member<Point>([&](auto member) { use(member.name, point.*member.pointer); });
// https://www.boost.org/doc/libs/1_81_0/libs/describe/doc/html/describe.html

#include <array>
#include <boost/describe.hpp>
#include <boost/mp11.hpp>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace exchange {

template <class Struct>
using MembersOf = boost::describe::describe_members<Struct, boost::describe::mod_public>;
template <class Enum>
using EnumeratorsOf = boost::describe::describe_enumerators<Enum>;

// Calls use(member) for each described member, in that order: member.name, and member.pointer, the
// pointer to it.
template <class Struct, class Use>
constexpr void for_each_member(Use use) {
  boost::mp11::mp_for_each<MembersOf<Struct>>(use);
}

// Calls use(to's, from's) for each described member name that both structs have.
template <class To, class From, class Use>
constexpr void for_each_shared_member(To& to, const From& from, Use use) {
  for_each_member<To>([&]<class Target>(Target) {
    for_each_member<From>([&]<class Source>(Source) {
      if constexpr (std::string_view(Source::name) == Target::name)
        use(to.*Target::pointer, from.*Source::pointer);
    });
  });
}
template <class From, class To>
constexpr void copy_shared_members(const From& from, To& to) {
  for_each_shared_member(to, from, [](auto& target, const auto& source) { target = source; });
}

// The number of enumerators; their values are 0, 1, ...
template <class Enum>
inline constexpr std::size_t enumerators = [] {
  std::size_t count = 0;
  bool dense = true;
  boost::mp11::mp_for_each<EnumeratorsOf<Enum>>(
      [&](auto one) { dense = dense && std::size_t(one.value) == count++; });
  return dense ? count : throw "an enumerator has a value of its own";
}();

// Returns the name of the enumerator, which is the word for programs and logs.
template <class Enum>
requires std::is_enum_v<Enum>
constexpr std::string_view to_string(Enum value) {
  constexpr auto names = [] {
    std::array<std::string_view, enumerators<Enum>> all;
    boost::mp11::mp_for_each<EnumeratorsOf<Enum>>(
        [&](auto one) { all[std::size_t(one.value)] = one.name; });
    return all;
  }();
  return names[std::size_t(value)];
}

}  // namespace exchange
