# find_package(exchange_engine) brings the target exchange::engine.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(Boost 1.81)
include(${CMAKE_CURRENT_LIST_DIR}/exchange_engine-targets.cmake)
