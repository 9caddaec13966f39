# berth_house(NAME [USES house...] SOURCES file... [LIBS lib...])
# makes the library berth-NAME from src/NAME/*.c, and from each FILE_test.c beside a FILE.c
# the test NAME/FILE with the label NAME. USES are the houses it may include.

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

option(BERTH_WERROR "Warnings are errors" ON)
set(BERTH_SANITIZE "" CACHE STRING "Sanitizers for all houses, e.g. address,undefined or thread")

add_compile_definitions(_GNU_SOURCE)
add_compile_options(
    -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition
    -Wpointer-arith -Wwrite-strings -Wundef -Wformat=2 -Wvla -Wimplicit-fallthrough -Wswitch-enum
    -ffp-contract=off -fno-strict-aliasing -fstack-protector-strong)
string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_RELWITHDEBINFO "${CMAKE_C_FLAGS_RELWITHDEBINFO}")
string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_RELEASE "${CMAKE_C_FLAGS_RELEASE}")
if(BERTH_WERROR)
    add_compile_options(-Werror)
endif()
if(BERTH_SANITIZE)
    add_compile_options(-fsanitize=${BERTH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${BERTH_SANITIZE})
endif()
option(BERTH_FUZZ "Build the fuzz targets of tests/fuzz (clang)" OFF)
if(BERTH_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()
include_directories(${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)

function(berth_house name)
    cmake_parse_arguments(H "" "" "USES;SOURCES;LIBS" ${ARGN})
    set(dir ${CMAKE_SOURCE_DIR}/src/${name})
    set(files "")
    foreach(source IN LISTS H_SOURCES)
        list(APPEND files ${dir}/${source}.c)
    endforeach()
    add_library(berth-${name} STATIC ${files})
    foreach(house IN LISTS H_USES)
        target_link_libraries(berth-${name} PUBLIC berth-${house})
    endforeach()
    foreach(lib IN LISTS H_LIBS)
        target_link_libraries(berth-${name} PUBLIC ${lib})
    endforeach()
    foreach(source IN LISTS H_SOURCES)
        if(EXISTS ${dir}/${source}_test.c)
            berth_test(${name} ${source} ${dir}/${source}_test.c)
        endif()
    endforeach()
endfunction()

# berth_test(HOUSE NAME FILE [LIB...]): the test HOUSE/NAME from FILE, linked with its house.
function(berth_test house name file)
    string(REPLACE "/" "-" flat ${name})
    set(target test-${house}-${flat})
    add_executable(${target} ${file} ${CMAKE_SOURCE_DIR}/src/base/test.c)
    target_link_libraries(${target} PRIVATE berth-${house} ${ARGN} PkgConfig::cmocka)
    # A compiler cache may make __FILE__ relative, and then to this folder.
    add_test(NAME ${house}/${name} COMMAND ${target} WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
    set_tests_properties(${house}/${name} PROPERTIES LABELS ${house} SKIP_RETURN_CODE 77 TIMEOUT 300)
endfunction()

# berth_version(HOUSE FILE): FILE.c of the house knows the version and the commit it is built from.
function(berth_version house file)
    set(commit unknown)
    execute_process(COMMAND git rev-parse --short=12 HEAD WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
        OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
    if(NOT failed)
        set(commit ${head})
        execute_process(COMMAND git rev-parse --git-path logs/HEAD
            WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE log
            OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
        cmake_path(ABSOLUTE_PATH log BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
        if(EXISTS ${log}) # each commit configures anew, so that the word stays true
            set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${log})
        endif()
    endif()
    set_source_files_properties(${CMAKE_SOURCE_DIR}/src/${house}/${file}.c PROPERTIES
        COMPILE_DEFINITIONS "BERTH_VERSION=\"${PROJECT_VERSION}\";BERTH_COMMIT=\"${commit}\"")
endfunction()
