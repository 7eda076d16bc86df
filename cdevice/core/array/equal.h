/* equal.h - equality of values, for any offsets, encoding of nulls and place of the bytes. */
#ifndef CDEVICE_CORE_ARRAY_EQUAL_H
#define CDEVICE_CORE_ARRAY_EQUAL_H

#include <stdbool.h>

#include "cdevice/arrow_abi.h"

struct cdv_array;

/* Same type (names aside) and same values; both readable by the CPU. */
int cdv_array_equal(struct cdv_array *a, struct cdv_array *b, bool nans_equal, int *equal);
/* The same for nodes of one type, which the CPU may read and whose contents were checked. */
bool cdv_nodes_equal(const struct ArrowSchema *schema, const struct ArrowArray *a, const struct ArrowArray *b);

#endif
