/* text.h - strings and bytes with offsets of type T. */
#include "cdevice/kernels/strings/string_match.h"
#include "cdevice/kernels/strings/string_regex.h"
#include "cdevice/kernels/strings/string_class.h"
#include "cdevice/kernels/strings/string_pieces.h"
#include "cdevice/kernels/strings/string_case.h"
#include "cdevice/kernels/strings/string_edit.h"
