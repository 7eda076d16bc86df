/* time_zone.h - timestamps of a zone as its clocks show them, and back.  T: see calendar.h.  BUF_ARG1: see zone.h. */
#define PER_SECOND ((i64)OF(PER_SECOND, T))
#define ZONE IN(i64, BUF_ARG1)
#define STATE(x) zone_state(ZONE, floor_div(x, PER_SECOND))

KERNEL(local_time) {
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const i64 x = IN(i64, BUF_ARG0)[i];
    OUT(i64, BUF_OUT)[i] = (i64)((u64)x + (u64)zone_offset(STATE(x)) * (u64)PER_SECOND);
  }
}
KERNEL(is_dst) {
  PACK_ROOM;
  PACK(OUT(u32, BUF_OUT), SCALAR(SCALAR_ROWS), i, STATE(IN(i64, BUF_ARG0)[i]) & 1)
}
/* SCALAR_ARG2: the choice of ambiguous times, and four times that for those that are missing. */
KERNEL(assume) {
  const int ambiguous = (int)SCALAR(SCALAR_ARG2) & 3, missing = (int)SCALAR(SCALAR_ARG2) >> 2;
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const i64 x = IN(i64, BUF_ARG0)[i], second = floor_div(x, PER_SECOND);
    int what = 0;
    const i64 utc = zone_utc(ZONE, second, ambiguous, missing, &what);
    const u64 made = (u64)utc * (u64)PER_SECOND;
    const u64 rest = (u64)x - (u64)second * (u64)PER_SECOND;
    OUT(i64, BUF_OUT)[i] = (i64)(made + (what == 0 ? rest : what < 0 ? ~(u64)0 : 0));
    if (what > 1 && bit1(RAW(u32, BUF_COUNTED), OFFSET(BUF_COUNTED), i))
      report_error(OUT(i64, BUF_ERROR), what, second);
  }
}
#undef PER_SECOND
#undef ZONE
#undef STATE
