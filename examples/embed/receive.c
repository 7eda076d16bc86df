/* receive.c - an array from Python, through the addresses of two structs (see python_side.py). */
#include <cdevice/cdevice.h>

#include <stdio.h>

int main(void) {
  struct ArrowDeviceArray array;
  struct ArrowSchema schema;
  void *addresses[2];
  cdevice_array *received;
  addresses[0] = &array;
  addresses[1] = &schema;
  if (cdevice_call_python("python_side", "fill", addresses, NULL)) {
    fprintf(stderr, "%s\n", cdevice_start() ? cdevice_start_error() : cdevice_error_text());
    return 1;
  }
  printf("a batch of %lld rows:", (long long)array.array.length);
  for (int64_t i = 0; i < schema.n_children; i++)
    printf(" %s (%s)", schema.children[i]->name, schema.children[i]->format);
  printf("\n");
  if (cdevice_array_import(&schema, &array, CDEVICE_CHECK_FULL, &received)) {
    fprintf(stderr, "%s\n", cdevice_error_text());
    return 1;
  }
  printf("%lld bytes\n", (long long)cdevice_array_nbytes(received));
  cdevice_array_unref(received);
  return 0;
}
