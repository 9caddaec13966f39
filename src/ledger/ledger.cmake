# The ledger and its tests; those that are run over every store say which in their name.
berth_house(ledger USES base api
    SOURCES base batch changes check check_held check_queue check_quota faulty judge judge_attempt judge_bind judge_held
            judge_job judge_labels judge_lease judge_limit judge_node judge_order judge_queue judge_quota ledger memory mirror
            mirror_account mirror_held mirror_load mirror_queue mirror_quota op opening pace reader row_read schema
            sqlite sqlite_sql store writer
    LIBS PkgConfig::sqlite3 PkgConfig::jansson Threads::Threads)

# What the tests of this house share.
set(ledger ${CMAKE_CURRENT_SOURCE_DIR}/ledger)
add_library(ledger-world STATIC ${ledger}/world.c)
target_link_libraries(ledger-world PUBLIC berth-ledger PkgConfig::cmocka)
berth_test(ledger history ${ledger}/history_test.c)
berth_test(ledger interleave ${ledger}/interleave_test.c)
berth_test(ledger kill ${ledger}/kill_test.c)
foreach(test IN ITEMS check history interleave kill ledger judge_attempt judge_bind judge_held judge_job
        judge_lease judge_limit judge_node judge_order judge_queue judge_quota reader writer
        sqlite)
    target_link_libraries(test-ledger-${test} PRIVATE ledger-world)
endforeach()

# One test of stores, unchanged over all of them.
foreach(store IN ITEMS memory sqlite)
    berth_test(ledger conformance-${store} ${ledger}/conformance_test.c ledger-world)
    set_tests_properties(ledger/conformance-${store} PROPERTIES
        LABELS "ledger;conformance" ENVIRONMENT BERTH_TEST_STORE=${store})
endforeach()

# How fast it is: bench-queue STORE JOBS BATCH.
add_executable(bench-queue EXCLUDE_FROM_ALL ${ledger}/queue_bench.c)
target_link_libraries(bench-queue PRIVATE berth-ledger)
