# find_package(exchange_core) brings the targets exchange::core and exchange::store_sqlite.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(Boost 1.81)
find_dependency(SQLite3)
find_dependency(spdlog)
include(${CMAKE_CURRENT_LIST_DIR}/exchange_core-targets.cmake)
