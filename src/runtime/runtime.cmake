# The house runtime, the programs it starts, and its tests of whole containers.
include(${CMAKE_SOURCE_DIR}/src/monitor/monitor.cmake)
pkg_check_modules(libarchive REQUIRED IMPORTED_TARGET libarchive)

berth_house(runtime USES base
    SOURCES config folder group image knob launch log machine monitors note prepare runtime sweep watch
    LIBS PkgConfig::jansson)

add_executable(berth-unpack ${CMAKE_SOURCE_DIR}/src/runtime/unpack_main.c)
target_link_libraries(berth-unpack PRIVATE PkgConfig::libarchive PkgConfig::openssl)
set_target_properties(berth-unpack PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

add_library(berth-runtime-rig STATIC ${CMAKE_SOURCE_DIR}/src/runtime/rig.c)
target_link_libraries(berth-runtime-rig PUBLIC berth-runtime PkgConfig::cmocka)
target_compile_definitions(berth-runtime-rig PUBLIC
    BERTH_BUILD_DIR="${CMAKE_BINARY_DIR}" BERTH_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
add_dependencies(berth-runtime-rig berth-monitor berth-unpack)
foreach(test IN ITEMS container limits monitor output phases)
    berth_test(runtime ${test} ${CMAKE_SOURCE_DIR}/src/runtime/${test}_test.c berth-runtime-rig)
endforeach()
berth_test(runtime unpack ${CMAKE_SOURCE_DIR}/src/runtime/unpack_test.c berth-runtime-rig PkgConfig::libarchive)

add_executable(berth-start-bench EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/src/runtime/start_bench.c)
target_link_libraries(berth-start-bench PRIVATE berth-runtime)
target_compile_definitions(berth-start-bench PRIVATE BERTH_BUILD_DIR="${CMAKE_BINARY_DIR}")
add_dependencies(berth-start-bench berth-monitor berth-unpack)
