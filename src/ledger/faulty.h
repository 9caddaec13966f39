/* What tests ask of the faulty store beside struct store_driver's. */
#ifndef LEDGER_FAULTY_H
#define LEDGER_FAULTY_H

#include "ledger/store.h"

/** How many calls were made so far. */
uint64_t faulty_calls(struct store *store);

#endif
