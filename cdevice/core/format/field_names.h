/* field_names.h - which field of a schema has a name. */
#ifndef CDEVICE_CORE_FORMAT_FIELD_NAMES_H
#define CDEVICE_CORE_FORMAT_FIELD_NAMES_H

#include <stdint.h>

#include "core/format/schema.h"

struct cdv_field_names; /* freed with its schema */
/* How many fields have the name, and in *at the number of one of them, of the one where there is one.  Any thread; does
 * not block.  A schema of many fields keeps an index once it was asked a few times; without memory for it each is read. */
int64_t cdv_schema_find(struct cdv_schema *schema, const char *name, int64_t *at);

#endif
