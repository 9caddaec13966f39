/* What tests of the SQLite store ask beside struct store_driver's. */
#ifndef LEDGER_SQLITE_H
#define LEDGER_SQLITE_H

#include "ledger/store.h"

/** Whether this type of a file system (statfs f_type) is on another machine. */
bool sqlite_is_network(unsigned long file_system);

#endif
