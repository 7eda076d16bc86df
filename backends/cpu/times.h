/* times.h - all that is known of times that are counted as T; see kernels/temporal/calendar.h. */
#include "cdevice/kernels/temporal/time_fields.h"
#include "cdevice/kernels/temporal/time_round.h"
#include "cdevice/kernels/temporal/time_between.h"
#if OF(HAS_DATE, T) && OF(HAS_CLOCK, T)
#include "cdevice/kernels/temporal/time_zone.h"
#endif
