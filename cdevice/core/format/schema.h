/* schema.h - schemas: owned, shared, copied, compared, exported. */
#ifndef CDEVICE_CORE_FORMAT_SCHEMA_H
#define CDEVICE_CORE_FORMAT_SCHEMA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cdevice/arrow_abi.h"

struct cdv_export_prototype;
struct cdv_field_names;

/* cffi: begin */
int64_t cdv_live_schemas(void);
/* cffi: end */

struct cdv_schema {
  atomic_long refs;
  struct cdv_schema *owner; /* the one that owns the nodes, or NULL: this one does */
  const struct ArrowSchema *node;
  struct ArrowSchema own;
  _Atomic(struct cdv_export_prototype *) template;
  _Atomic(struct cdv_field_names *) field_names; /* NULL: not made yet */
  atomic_int finds;                              /* how often it would have been used */
  _Atomic uint64_t type; /* two that have the same number here are of one type; 0: not compared yet */
};
/* owns: moves *schema in; on error it is untouched. */
int cdv_schema_import(struct ArrowSchema *schema, struct cdv_schema **out);
int cdv_schema_adopt(struct ArrowSchema *schema, struct cdv_schema **out); /* without the check */
int cdv_schema_export(struct cdv_schema *schema, struct ArrowSchema *out);
/* Of a one-letter format that means numbers, nullable and without a name; a new reference.  NULL: another letter. */
struct cdv_schema *cdv_schema_of_number(char letter);
/* A schema for a node below (borrowed from schema's owner).  New reference. */
struct cdv_schema *cdv_schema_at(struct cdv_schema *schema, const struct ArrowSchema *node);
struct cdv_schema *cdv_schema_ref(struct cdv_schema *schema);
void cdv_schema_unref(struct cdv_schema *schema);
/* Deep copy into malloc'ed nodes. */
int cdv_schema_copy(const struct ArrowSchema *from, struct ArrowSchema *out);
/* top: the name and the nullability of the top count as well; they say nothing of the type. */
bool cdv_schema_equal(const struct ArrowSchema *a, const struct ArrowSchema *b, bool metadata, bool top);
/* cdv_schema_equal() without metadata and top; what was found equal once is not compared again. */
bool cdv_schema_same_type(struct cdv_schema *a, struct cdv_schema *b);
/* How the first is not as the second, in words. */
void cdv_schema_difference(const struct ArrowSchema *a, const struct ArrowSchema *b, char *out, size_t room);
/* Same types in the same shape; names, nullability and metadata may differ. */
bool cdv_schema_castable(const struct ArrowSchema *a, const struct ArrowSchema *b);
/* Bytes of an encoded metadata block; 0 for NULL. */
int64_t cdv_metadata_size(const char *metadata);
/* Does the block end within so many bytes, and say nothing impossible? */
bool cdv_metadata_fits(const char *metadata, int64_t size);
/* "d:5,2" and "d:5,2,128" are one type. */
bool cdv_format_equal(const char *a, const char *b);

#endif
