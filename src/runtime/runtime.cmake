# The house runtime, the programs it starts, and its tests of whole containers.
include(${CMAKE_SOURCE_DIR}/src/monitor/monitor.cmake)
berth_house(runtime USES base
    SOURCES config folder group image knob launch log machine note prepare runtime sweep watch
    LIBS PkgConfig::jansson)

add_library(berth-runtime-rig STATIC ${CMAKE_SOURCE_DIR}/src/runtime/rig.c)
target_link_libraries(berth-runtime-rig PUBLIC berth-runtime PkgConfig::cmocka)
target_compile_definitions(berth-runtime-rig PRIVATE BERTH_BUILD_DIR="${CMAKE_BINARY_DIR}")
add_dependencies(berth-runtime-rig berth-monitor)
berth_test(runtime container ${CMAKE_SOURCE_DIR}/src/runtime/container_test.c berth-runtime-rig)
