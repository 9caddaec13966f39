# The ledger and its tests; those that are run over every store say which in their name.
berth_house(ledger USES base api
    SOURCES batch changes check faulty judge judge_attempt judge_bind judge_job judge_lease
            judge_node judge_queue ledger memory mirror mirror_load op reader row_read schema
            sqlite sqlite_sql store writer
    LIBS PkgConfig::sqlite3 PkgConfig::jansson Threads::Threads)

# What the tests of this house share.
set(ledger ${CMAKE_CURRENT_SOURCE_DIR}/ledger)
add_library(ledger-world STATIC ${ledger}/world.c)
target_link_libraries(ledger-world PUBLIC berth-ledger PkgConfig::cmocka)
foreach(test IN ITEMS ledger judge_attempt judge_bind judge_job judge_lease judge_node judge_queue)
    target_link_libraries(test-ledger-${test} PRIVATE ledger-world)
endforeach()

# One test of stores, unchanged over all of them.
foreach(store IN ITEMS memory sqlite)
    berth_test(ledger conformance-${store} ${ledger}/conformance_test.c ledger-world)
    set_tests_properties(ledger/conformance-${store} PROPERTIES
        LABELS "ledger;conformance" ENVIRONMENT BERTH_TEST_STORE=${store})
endforeach()
