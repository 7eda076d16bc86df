/* export_int32.c DEVICE - makes int32 values on a device, hands them out as an ArrowDeviceArray, and reads one back as
 * another library would: by the struct alone. */
#include <cdevice/cdevice.h>

#include <stdio.h>
#include <stdlib.h>

static int failed(const char *doing) {
  const char *why = cdevice_start() ? cdevice_start_error() : cdevice_error_text();
  fprintf(stderr, "%s: %s\n", doing, why);
  return 1;
}

/* The producer: on success both structs are the caller's to release. */
static int export_int32(int32_t type, int64_t id, const int32_t *values, int64_t n, struct ArrowDeviceArray *array,
                        struct ArrowSchema *schema) {
  cdevice_schema *type_of_array = NULL;
  cdevice_array *here = NULL, *there = NULL;
  const void *buffers[2];
  cdevice_array_parts parts;
  int r;
  buffers[0] = NULL; /* no validity bitmap: no nulls */
  buffers[1] = values;
  memset(&parts, 0, sizeof parts);
  parts.device_type = ARROW_DEVICE_CPU;
  parts.device_id = -1;
  parts.length = n;
  parts.n_buffers = 2;
  parts.buffers = buffers;
  r = cdevice_schema_new("i", "", 0, 0, NULL, NULL, &type_of_array);
  if (!r) r = cdevice_array_build(type_of_array, &parts, CDEVICE_CHECK_STRUCTURE, &here);
  if (!r) r = cdevice_array_copy(here, type, id, NULL, 1, &there); /* does not wait for the device */
  if (!r) r = cdevice_array_wait(there);                           /* `values` may go now */
  if (!r) r = cdevice_schema_export(type_of_array, schema);
  if (!r && (r = cdevice_array_export(there, array))) schema->release(schema);
  if (there) cdevice_array_unref(there);
  if (here) cdevice_array_unref(here);
  if (type_of_array) cdevice_schema_unref(type_of_array);
  return r;
}

int main(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "cpu";
  int32_t type, values[1000];
  int64_t id, sum = 0;
  struct ArrowDeviceArray array;
  struct ArrowSchema schema;
  cdevice_array *received, *back;
  if (cdevice_find_device(name, &type, &id)) return failed(name);
  for (int i = 0; i < 1000; i++) values[i] = i;
  if (export_int32(type, id, values, 1000, &array, &schema)) return failed("export");
  printf("%s: device type %d, id %lld, format %s, length %lld, %s event\n", name, (int)array.device_type,
         (long long)array.device_id, schema.format, (long long)array.array.length, array.sync_event ? "an" : "no");

  /* the consumer */
  if (cdevice_array_import(&schema, &array, CDEVICE_CHECK_STRUCTURE, &received)) return failed("import");
  if (cdevice_array_copy(received, ARROW_DEVICE_CPU, -1, NULL, 0, &back)) return failed("copy");
  if (cdevice_array_export(back, &array)) return failed("export");
  for (int64_t i = 0; i < array.array.length; i++) sum += ((const int32_t *)array.array.buffers[1])[i];
  array.array.release(&array.array);
  cdevice_array_unref(back);
  cdevice_array_unref(received);
  printf("sum %lld\n", (long long)sum);
  return sum == 499500 ? 0 : 1;
}
