# berth-monitor and berth-unpack: programs that the runtime starts.
#
# The monitor is static and small, because one is executed for every container: with musl its start
# costs less than half of what it costs with glibc (0.6 against 1.4 ms where page faults are dear). So
# it is built with musl-gcc where that is installed, else with the compiler of the rest; never
# with sanitizers, and with nothing but libc.
find_program(BERTH_MUSL_GCC musl-gcc)
if(BERTH_MUSL_GCC)
    set(monitor_cc ${BERTH_MUSL_GCC})
else()
    set(monitor_cc ${CMAKE_C_COMPILER})
endif()
file(GLOB monitor_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/monitor/*.c)
file(GLOB monitor_headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/monitor/*.h)
add_custom_command(
    OUTPUT ${CMAKE_BINARY_DIR}/berth-monitor
    COMMAND ${monitor_cc} -std=c17 -D_GNU_SOURCE -Os -static -s -Wall -Wextra -Wshadow
            -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Werror -I ${CMAKE_SOURCE_DIR}/src
            -o ${CMAKE_BINARY_DIR}/berth-monitor ${monitor_sources}
    DEPENDS ${monitor_sources} ${monitor_headers}
    VERBATIM)
add_custom_target(berth-monitor ALL DEPENDS ${CMAKE_BINARY_DIR}/berth-monitor)
