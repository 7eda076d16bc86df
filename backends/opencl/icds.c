/* icds.c - runtimes that are installed and cannot be loaded: loaders pass them over without a word. */
#include "opencl/internal.h"

#include <dirent.h>
#include <sys/stat.h>

/* Notes it where the file's library cannot be loaded. */
static int look_at(const char *path) {
  char library[512] = "";
  struct stat s;
  FILE *file = !stat(path, &s) && S_ISREG(s.st_mode) ? fopen(path, "r") : NULL;
  if (!file) return 0;
  if (!fgets(library, sizeof library, file)) library[0] = 0;
  fclose(file);
  library[strcspn(library, "\r\n")] = 0;
  if (!library[0]) {
    cdevice_dl_note(&ocl_state.dl, "the .icd file %s names no library", path);
    return 1;
  }
  if (dlopen(library, RTLD_LAZY | RTLD_LOCAL)) return 0; /* stays: runtimes have threads */
  const char *why = dlerror();
  cdevice_dl_note(&ocl_state.dl, "the .icd file %s names %s, which cannot be loaded: %s", path, library,
                  why ? why : "");
  return 1;
}

static int look_in(const char *folder) {
  char path[1024];
  int found = 0;
  DIR *dir = opendir(folder);
  for (struct dirent *e; dir && (e = readdir(dir));) {
    size_t n = strlen(e->d_name);
    if (n < 5 || strcmp(e->d_name + n - 4, ".icd")) continue;
    if (snprintf(path, sizeof path, "%s/%s", folder, e->d_name) < (int)sizeof path) found += look_at(path);
  }
  if (dir) closedir(dir);
  return found;
}

/* Where loaders look: a variable stands for the system's folder, and may name one file or one library. */
int ocl_note_broken(void) {
  static const char *const variables[] = {"OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH", "OCL_ICD_FILENAMES"};
  struct stat s;
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
    const char *value = getenv(variables[i]);
    if (!value || !*value) continue;
    cdevice_dl_note(&ocl_state.dl, "$%s is %s", variables[i], value);
    if (stat(value, &s)) cdevice_dl_note(&ocl_state.dl, "which does not exist");
    size_t n = strlen(value);
    if (n > 4 && !strcmp(value + n - 4, ".icd")) return look_at(value);
    return look_in(value);
  }
  return look_in("/etc/OpenCL/vendors");
}
