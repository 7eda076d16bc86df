/* group.c DEVICE - trips by city, joined with the cities' names and sorted, on a device: cdevice_call reaches every
 * function, with its options as JSON. */
#include <cdevice/cdevice.h>

#include <stdio.h>
#include <string.h>

static const int32_t trip_city[] = {3, 1, 3, 2, 1, 3, 2, 9};
static const double trip_price[] = {4.5, 12.0, 7.5, 3.25, 8.0, 6.0, 2.75, 1.0};
static const int32_t city_city[] = {1, 2, 3};
static const int32_t name_ends[] = {0, 6, 10, 16};
static const char name_bytes[] = "BergenOsloNarvik";

static int failed(const char *doing) {
  const char *why = cdevice_start() ? cdevice_start_error() : cdevice_error_text();
  fprintf(stderr, "%s: %s\n", doing, why);
  return 1;
}

/* An array over memory that stays: values, or offsets and bytes. children: of a batch. */
static int make(const char *format, const char *name, int64_t length, const void *values, const void *bytes,
                cdevice_array **children, int64_t n_children, cdevice_array **out) {
  cdevice_schema *schema = NULL, *fields[2] = {NULL, NULL};
  const void *buffers[3];
  cdevice_array_parts parts;
  int r;
  buffers[0] = NULL; /* no nulls */
  buffers[1] = values;
  buffers[2] = bytes;
  memset(&parts, 0, sizeof parts);
  parts.device_type = ARROW_DEVICE_CPU;
  parts.device_id = -1;
  parts.length = length;
  parts.n_buffers = bytes ? 3 : values ? 2 : 1;
  parts.buffers = buffers;
  parts.n_children = n_children;
  parts.children = children;
  for (int64_t i = 0; i < n_children; i++) fields[i] = cdevice_array_schema(children[i]);
  r = cdevice_schema_new(format, name, 0, n_children, fields, NULL, &schema);
  if (!r) r = cdevice_array_build(schema, &parts, CDEVICE_CHECK_STRUCTURE, out);
  cdevice_schema_unref(schema);
  return r;
}

/* A batch of two columns, on the device. Consumes the columns. */
static int make_batch(cdevice_array *a, cdevice_array *b, int32_t type, int64_t id, cdevice_array **out) {
  cdevice_array *columns[2], *here = NULL;
  int r;
  columns[0] = a;
  columns[1] = b;
  r = make("+s", "", cdevice_array_length(a), NULL, NULL, columns, 2, &here);
  if (!r) r = cdevice_array_copy(here, type, id, NULL, 0, out);
  cdevice_array_unref(here);
  cdevice_array_unref(a);
  cdevice_array_unref(b);
  return r;
}

/* Prints name, count, sum and mean. Blocks until the device has computed them. */
static int print_table(cdevice_array *table) {
  cdevice_array *here = NULL;
  struct ArrowDeviceArray out;
  if (cdevice_array_copy(table, ARROW_DEVICE_CPU, -1, NULL, 0, &here) || cdevice_array_export(here, &out)) return 1;
  struct ArrowArray **c = out.array.children; /* city, count_all, price_sum, price_mean, name: none has an offset */
  const int32_t *ends = (const int32_t *)c[4]->buffers[1];
  const char *bytes = (const char *)c[4]->buffers[2];
  printf("%-8s %5s %8s %8s\n", "city", "trips", "sum", "mean");
  for (int64_t i = 0; i < out.array.length; i++)
    printf("%-8.*s %5lld %8.2f %8.2f\n", (int)(ends[i + 1] - ends[i]), bytes + ends[i],
           (long long)((const int64_t *)c[1]->buffers[1])[i], ((const double *)c[2]->buffers[1])[i],
           ((const double *)c[3]->buffers[1])[i]);
  out.array.release(&out.array);
  cdevice_array_unref(here);
  return 0;
}

int main(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "cpu";
  int32_t type;
  int64_t id;
  cdevice_array *a = NULL, *b = NULL, *sides[2] = {NULL, NULL}, *trips = NULL, *joined = NULL, *sorted = NULL;
  if (cdevice_find_device(name, &type, &id)) return failed(name);
  if (make("i", "city", 8, trip_city, NULL, NULL, 0, &a) || make("g", "price", 8, trip_price, NULL, NULL, 0, &b) ||
      make_batch(a, b, type, id, &trips))
    return failed("trips");
  if (make("i", "city", 3, city_city, NULL, NULL, 0, &a) || make("u", "name", 3, name_ends, name_bytes, NULL, 0, &b) ||
      make_batch(a, b, type, id, &sides[1]))
    return failed("cities");

  if (cdevice_call("group_by", &trips, 1,
                   "{\"keys\": [\"city\"],"
                   " \"aggregations\": [[[], \"count_all\"], [\"price\", \"sum\"], [\"price\", \"mean\"]]}",
                   &sides[0]))
    return failed("group_by");
  if (cdevice_call("join", sides, 2, "{\"keys\": [\"city\"], \"join_type\": \"inner\"}", &joined))
    return failed("join");
  if (cdevice_call("sort_by", &joined, 1, "{\"sort_keys\": [[\"price_sum\", \"descending\"]]}", &sorted))
    return failed("sort_by");
  if (print_table(sorted)) return failed("print");
  cdevice_array_unref(sorted);
  cdevice_array_unref(joined);
  cdevice_array_unref(sides[0]);
  cdevice_array_unref(sides[1]);
  cdevice_array_unref(trips);
  return 0;
}
