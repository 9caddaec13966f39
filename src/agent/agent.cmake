# The house agent, and tests of the whole of it.
berth_house(agent USES base api runtime client
    SOURCES adopt agent attempts identity life link mail order other_life point relay room seen shelf spare stop stored wire works
    LIBS PkgConfig::jansson)

add_library(berth-agent-fake STATIC ${CMAKE_SOURCE_DIR}/src/agent/fake.c)
target_link_libraries(berth-agent-fake PUBLIC berth-agent PkgConfig::cmocka)
target_compile_definitions(berth-agent-fake PRIVATE BERTH_BUILD_DIR="${CMAKE_BINARY_DIR}")
add_dependencies(berth-agent-fake berth-monitor)
berth_test(agent whole ${CMAKE_SOURCE_DIR}/src/agent/whole_test.c berth-agent-fake)
