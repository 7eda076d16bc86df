/* stream.c - a stream of batches made in C, read by Python (see python_side.py). */
#include <cdevice/cdevice.h>

#include <stdio.h>
#include <stdlib.h>

enum { BATCHES = 5, ROWS = 100 };

static int make(cdevice_schema *schema, int64_t start, cdevice_array **out) {
  int64_t *values = (int64_t *)malloc(ROWS * sizeof *values);
  const void *buffers[2];
  cdevice_array_parts parts;
  int r;
  if (!values) return 1;
  for (int64_t i = 0; i < ROWS; i++) values[i] = start + i;
  buffers[0] = NULL;
  buffers[1] = values;
  memset(&parts, 0, sizeof parts);
  parts.device_type = ARROW_DEVICE_CPU;
  parts.device_id = -1;
  parts.length = ROWS;
  parts.n_buffers = 2;
  parts.buffers = buffers;
  parts.release = free; /* when the last holder of the batch is done with it, here or in Python */
  parts.owner = values;
  r = cdevice_array_build(schema, &parts, CDEVICE_CHECK_STRUCTURE, out);
  if (r) free(values);
  return r;
}

int main(void) {
  cdevice_schema *schema = NULL;
  cdevice_array *batches[BATCHES] = {NULL};
  cdevice_stream *stream = NULL;
  struct ArrowDeviceArrayStream out;
  int64_t sum = 0;
  int r = cdevice_schema_new("l", "x", 0, 0, NULL, NULL, &schema);
  for (int i = 0; !r && i < BATCHES; i++) r = make(schema, i * (int64_t)ROWS, &batches[i]);
  if (!r) r = cdevice_stream_new(schema, ARROW_DEVICE_CPU, batches, BATCHES, &stream);
  if (!r) r = cdevice_stream_export(stream, &out);
  if (!r) r = cdevice_call_python("python_side", "total", &out, &sum);
  if (r) fprintf(stderr, "%s\n", cdevice_start() ? cdevice_start_error() : cdevice_error_text());
  for (int i = 0; i < BATCHES; i++)
    if (batches[i]) cdevice_array_unref(batches[i]);
  if (schema) cdevice_schema_unref(schema);
  printf("Python's sum: %lld\n", (long long)sum);
  return r || sum != 124750;
}
