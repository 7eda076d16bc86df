/* kernel_source.h - texts of kernels that were added at run time; they stay. */
#ifndef CDEVICE_CORE_COMPUTE_KERNEL_SOURCE_H
#define CDEVICE_CORE_COMPUTE_KERNEL_SOURCE_H

/* cffi: begin */
/* Of kernels, written by build_ffi.py; "": what stands before each.  NULL: no such family. */
const char *cdv_kernel_source(const char *family);
/* Adds a text of a user's own; one that is there already stays.  The name is the text's: another text has another. */
int cdv_kernel_register_source(const char *family, const char *text);
/* cffi: end */

const char *cdv_kernel_user_source(const char *family); /* NULL: no such family */

#endif
