// The parts of Boost.Asio and Boost.Beast that are not templates, compiled once for all targets
// (CMake target `asio`).
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
