# Helpers that keep every CMakeLists.txt in this repository one line per target.
#
# falcon_library(core DEPENDS model LIBS fmt::fmt)
#   takes src/core/*.cc, makes falcon::core, and turns src/core/*_test.cc into the
#   program core_test. DEPENDS names our own folders and is what the architecture
#   test compares with the #includes; LIBS names packages of the system.

add_library(falcon_flags INTERFACE)
target_compile_features(falcon_flags INTERFACE cxx_std_23)
target_compile_options(falcon_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  -Woverloaded-virtual -Wunused -Werror)
target_include_directories(falcon_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)

if(FALCON_SANITIZE)
  target_compile_options(falcon_flags INTERFACE
    -fsanitize=${FALCON_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(falcon_flags INTERFACE -fsanitize=${FALCON_SANITIZE})
endif()

function(falcon_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LIBS;TEST_DEPENDS;TEST_LIBS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  set(linked "")
  foreach(dependency ${ARG_DEPENDS})
    list(APPEND linked falcon::${dependency})
  endforeach()
  if(sources)
    add_library(falcon_${name} STATIC ${sources})
    target_link_libraries(falcon_${name} PUBLIC falcon_flags ${linked} ${ARG_LIBS})
  else()
    add_library(falcon_${name} INTERFACE)
    target_link_libraries(falcon_${name} INTERFACE falcon_flags ${linked} ${ARG_LIBS})
  endif()
  add_library(falcon::${name} ALIAS falcon_${name})
  if(tests AND FALCON_TESTS)
    set(test_linked "")
    foreach(dependency ${ARG_TEST_DEPENDS})
      list(APPEND test_linked falcon::${dependency})
    endforeach()
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE falcon::${name} ${test_linked} ${ARG_TEST_LIBS}
      GTest::gmock GTest::gtest GTest::gtest_main)
    add_test(NAME ${name} COMMAND ${name}_test)
  endif()
endfunction()
