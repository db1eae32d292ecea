cmake_minimum_required(VERSION 3.25)
# Writes OUT, a header that names the commit which is being built; touches it only when that has changed.
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=10 --exclude=* OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "#pragma once\n#define EXCHANGE_COMMIT \"@commit@\"\n" @ONLY)
