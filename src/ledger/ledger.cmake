# The ledger and its tests; those that are run over every store say which in their name.
berth_house(ledger USES base api
    SOURCES batch changes judge judge_attempt judge_bind judge_job judge_lease judge_node
            judge_queue ledger memory mirror mirror_load op reader row_read schema store
            writer
    LIBS PkgConfig::sqlite3 PkgConfig::jansson Threads::Threads)

# What the tests of this house share.
add_library(ledger-world STATIC ${CMAKE_CURRENT_SOURCE_DIR}/ledger/world.c)
target_link_libraries(ledger-world PUBLIC berth-ledger PkgConfig::cmocka)
foreach(test IN ITEMS ledger)
    target_link_libraries(test-ledger-${test} PRIVATE ledger-world)
endforeach()
