/* hash_table.h - a number for each row, equal where its word is: groups are numbered in the order of their first rows. */
KERNEL(hash_clear) { /* a table of row numbers */
  ROWS(i, SCALAR(SCALAR_ROWS)) { OUT(u32, BUF_HASH_SLOTS)[i] = HASH_EMPTY; }
}
#if defined(CDV_COARSE)
/* A work item does a part of the rows with a table of its own, and stops where the table is half full: the driver gives
 * it a larger one. The tables of the other parts are then merged into the first one, part by part. */
#define LISTS(p, groups_of_a_list)                                    \
  const i64 size = SCALAR(SCALAR_HASH_SIZE), room = groups_of_a_list; \
  GLOBAL u64 *RESTRICT keys = OUT(u64, BUF_HASH_KEYS) + (p) * room;   \
  GLOBAL u32 *RESTRICT first = OUT(u32, BUF_HASH_FIRST) + (p) * room; \
  GLOBAL i64 *state = OUT(i64, BUF_HASH_STATES) + HASH_STATE * (p)
/* Looks up `count` words, at most HASH_BATCH_ROWS. `row` is the first row of j. */
#define LOOK_UP(slots, words, count, j, row, out)                                                 \
  {                                                                                               \
    u32 places[HASH_BATCH_ROWS];                                                                  \
    for (int j = 0; j < (count); j++) places[j] = hash_place((words)[j], seed) & (u32)(size - 1); \
    if (size > 8192)                                                                              \
      for (int j = 0; j < (count); j++) PREFETCH((slots) + 2 * (u64)places[j]);                   \
    for (int j = 0; j < (count); j++) {                                                           \
      const u64 word = (words)[j];                                                                \
      u64 at = places[j];                                                                         \
      while ((slots)[2 * at + 1] && (slots)[2 * at] != word) at = (at + 1) & (u64)(size - 1);     \
      u32 id = (u32)(slots)[2 * at + 1];                                                          \
      if (!id) {                                                                                  \
        keys[groups] = word, first[groups] = (u32)(row);                                          \
        id = (u32)++groups;                                                                       \
        (slots)[2 * at] = word, (slots)[2 * at + 1] = id;                                         \
      }                                                                                           \
      (out)[j] = id - 1;                                                                          \
    }                                                                                             \
  }
KERNEL(hash_insert) {
  const i64 n = SCALAR(SCALAR_ROWS), rows = SCALAR(SCALAR_HASH_PART), base = SCALAR(SCALAR_HASH_FIRST_ROW);
  const u64 seed = (u64)SCALAR(SCALAR_HASH_SEED);
  TILES(p, n, rows) {
    LISTS(p, size / 2);
    GLOBAL u64 *RESTRICT slots = OUT(u64, BUF_HASH_SLOTS) + 2 * p * size;
    const i64 begin = p * rows, end = begin + rows < n ? begin + rows : n;
    i64 groups = state[0], i = begin + state[1];
    for (; i < end && groups + HASH_BATCH_ROWS <= size / 2; i += HASH_BATCH_ROWS) {
      const int count = end - i < HASH_BATCH_ROWS ? (int)(end - i) : HASH_BATCH_ROWS;
      LOOK_UP(slots, IN(u64, BUF_HASH_WORDS) + i, count, j, base + i + j, OUT(u32, BUF_HASH_IDS) + i)
    }
    state[0] = groups, state[1] = (i < end ? i : end) - begin;
  }
}
/* The groups of part SCALAR_HASH_PART into the table of all; the state of that one is before those of the parts. */
KERNEL(hash_merge) {
  const i64 p = SCALAR(SCALAR_HASH_PART), old_room = SCALAR(SCALAR_HASH_OLD_ROOM);
  const u64 seed = (u64)SCALAR(SCALAR_HASH_SEED);
  ITEMS(only, 1) {
    LISTS(only, size / 2);
    GLOBAL u64 *RESTRICT slots = OUT(u64, BUF_HASH_SLOTS);
    GLOBAL const u64 *RESTRICT theirs = IN(u64, BUF_HASH_OLD_KEYS) + p * old_room;
    GLOBAL const u32 *RESTRICT their_first = IN(u32, BUF_HASH_OLD_FIRST) + p * old_room;
    GLOBAL i64 *their_state = state + HASH_STATE * (p + 1);
    i64 groups = state[0], i = their_state[1];
    const i64 end = their_state[0];
    for (; i < end && groups + HASH_BATCH_ROWS <= room; i += HASH_BATCH_ROWS) {
      const int count = end - i < HASH_BATCH_ROWS ? (int)(end - i) : HASH_BATCH_ROWS;
      LOOK_UP(slots, theirs + i, count, j, their_first[i + j], OUT(u32, BUF_HASH_REMAP) + p * old_room + i)
    }
    state[0] = groups, their_state[1] = i < end ? i : end;
  }
}
#if defined(CDV_HOST) /* llvmpipe loses stores of the first one */
/* The groups of each part in a larger table; hash_copy_lists follows. */
KERNEL(hash_rehash) {
  const i64 old_room = SCALAR(SCALAR_HASH_OLD_ROOM), size = SCALAR(SCALAR_HASH_SIZE);
  const u64 seed = (u64)SCALAR(SCALAR_HASH_SEED);
  TILES(p, SCALAR(SCALAR_ROWS), SCALAR(SCALAR_HASH_PART)) {
    GLOBAL u64 *RESTRICT slots = OUT(u64, BUF_HASH_SLOTS) + 2 * p * size;
    GLOBAL const u64 *RESTRICT old_keys = IN(u64, BUF_HASH_OLD_KEYS) + p * old_room;
    const i64 groups = IN(i64, BUF_HASH_STATES)[HASH_STATE * p];
    for (i64 k = 0; k < 2 * size; k++) slots[k] = 0;
    for (i64 g = 0; g < groups; g++) {
      const u64 word = old_keys[g];
      u64 at = hash_place(word, seed) & (u32)(size - 1);
      while (slots[2 * at + 1]) at = (at + 1) & (u64)(size - 1);
      slots[2 * at] = word, slots[2 * at + 1] = (u64)g + 1;
    }
  }
}
/* Lists become longer; a row is a place of the old ones. */
KERNEL(hash_copy_lists) {
  const i64 old_room = SCALAR(SCALAR_HASH_OLD_ROOM), room = SCALAR(SCALAR_HASH_SIZE) / 2;
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const i64 p = i / old_room, g = i % old_room;
    if (g < IN(i64, BUF_HASH_STATES)[HASH_STATE * p]) {
      OUT(u64, BUF_HASH_KEYS)[p * room + g] = IN(u64, BUF_HASH_OLD_KEYS)[i];
      OUT(u32, BUF_HASH_FIRST)[p * room + g] = IN(u32, BUF_HASH_OLD_FIRST)[i];
    }
  }
}
#endif
/* Where words are small, a table has a place for each, and its lists for as many groups. */
KERNEL(hash_direct) {
  const i64 n = SCALAR(SCALAR_ROWS), rows = SCALAR(SCALAR_HASH_PART), base = SCALAR(SCALAR_HASH_FIRST_ROW);
  TILES(p, n, rows) {
    LISTS(p, size);
    GLOBAL u32 *RESTRICT slots = OUT(u32, BUF_HASH_SLOTS) + p * size;
    GLOBAL const u64 *RESTRICT words = IN(u64, BUF_HASH_WORDS);
    GLOBAL u32 *RESTRICT ids = OUT(u32, BUF_HASH_IDS);
    const i64 begin = p * rows, end = begin + rows < n ? begin + rows : n;
    i64 groups = state[0];
    for (i64 i = begin; i < end; i++) {
      u32 id = slots[words[i]];
      if (!id) {
        keys[groups] = words[i], first[groups] = (u32)(base + i);
        id = (u32)++groups;
        slots[words[i]] = id;
      }
      ids[i] = id - 1;
    }
    state[0] = groups;
  }
}
KERNEL(hash_merge_direct) {
  const i64 p = SCALAR(SCALAR_HASH_PART), old_room = SCALAR(SCALAR_HASH_OLD_ROOM);
  ITEMS(only, 1) {
    LISTS(only, size);
    GLOBAL u32 *RESTRICT slots = OUT(u32, BUF_HASH_SLOTS);
    GLOBAL const u64 *RESTRICT theirs = IN(u64, BUF_HASH_OLD_KEYS) + p * old_room;
    GLOBAL const u32 *RESTRICT their_first = IN(u32, BUF_HASH_OLD_FIRST) + p * old_room;
    const i64 end = state[HASH_STATE * p];
    i64 groups = state[0];
    for (i64 g = 0; g < end; g++) {
      const u64 word = theirs[g];
      u32 id = slots[word];
      if (!id) {
        keys[groups] = word, first[groups] = their_first[g];
        id = (u32)++groups;
        slots[word] = id;
      }
      OUT(u32, BUF_HASH_REMAP)[p * old_room + g] = id - 1;
    }
    state[0] = groups;
  }
}
/* Numbers of one part's groups become those of all groups. */
KERNEL(hash_renumber) {
  GLOBAL const u32 *RESTRICT remap = IN(u32, BUF_HASH_REMAP);
  GLOBAL u32 *RESTRICT ids = OUT(u32, BUF_HASH_IDS);
  ROWS(i, SCALAR(SCALAR_ROWS)) { ids[i] = remap[ids[i]]; }
}
/* Empty tables, and parts of which nothing is done; a row is four bytes. */
KERNEL(hash_zero) {
  ROWS(i, SCALAR(SCALAR_ROWS)) { OUT(u32, BUF_HASH_SLOTS)[i] = 0; }
}
KERNEL(hash_unmerged) { /* no group of a part is merged */
  ROWS(p, SCALAR(SCALAR_ROWS)) { OUT(i64, BUF_HASH_STATES)[HASH_STATE * p + 1] = 0; }
}
KERNEL(hash_first) { /* as i64 */
  ROWS(g, SCALAR(SCALAR_ROWS)) { OUT(i64, BUF_OUT)[g] = (i64)IN(u32, BUF_HASH_FIRST)[g]; }
}
/* Words one to one with the words, whose highest bits tell the bucket. */
KERNEL(hash_mix_words) {
  GLOBAL u64 *words = OUT(u64, BUF_HASH_WORDS);
  const u64 seed = (u64)SCALAR(SCALAR_HASH_SEED);
  ROWS(i, SCALAR(SCALAR_ROWS)) { words[i] = hash_mix((words[i] ^ seed) * HASH_FACTOR_2); }
}
/* The leaders of the rows of one bucket; SCALAR_HASH_SIZE: slots of its table. */
KERNEL(hash_bucket) {
  const i64 n = SCALAR(SCALAR_ROWS), size = SCALAR(SCALAR_HASH_SIZE);
  GLOBAL u32 *RESTRICT slots = OUT(u32, BUF_HASH_SLOTS); /* numbers of rows of the bucket, from 1 on */
  GLOBAL const u64 *RESTRICT words = IN(u64, BUF_HASH_WORDS);
  GLOBAL const u32 *RESTRICT rows = IN(u32, BUF_HASH_BUCKET_ROWS);
  GLOBAL u32 *RESTRICT leaders = OUT(u32, BUF_HASH_LEADERS);
  ITEMS(only, 1) {
    (void)only;
    for (i64 k = 0; k < size; k++) slots[k] = 0;
    for (i64 i = 0; i < n; i++) {
      const u64 word = words[i];
      u64 at = word & (u64)(size - 1);
      while (slots[at] && words[slots[at] - 1] != word) at = (at + 1) & (u64)(size - 1);
      if (!slots[at]) slots[at] = (u32)(i + 1);
      leaders[rows[i]] = rows[slots[at] - 1];
    }
  }
}
KERNEL(hash_count_leaders) {
  const i64 n = SCALAR(SCALAR_ROWS);
  TILES(t, n, SORT_TILE_ROWS) {
    i64 count = 0;
    for (i64 i = t * SORT_TILE_ROWS; i < n && i < (t + 1) * SORT_TILE_ROWS; i++)
      count += IN(u32, BUF_HASH_LEADERS)[i] == (u32)i;
    OUT(i64, BUF_HASH_COUNTS)[t] = count;
  }
}
KERNEL(hash_rank_leaders) {
  const i64 n = SCALAR(SCALAR_ROWS);
  TILES(t, n, SORT_TILE_ROWS) {
    i64 count = IN(i64, BUF_HASH_COUNTS)[t];
    for (i64 i = t * SORT_TILE_ROWS; i < n && i < (t + 1) * SORT_TILE_ROWS; i++)
      if (IN(u32, BUF_HASH_LEADERS)[i] == (u32)i) {
        OUT(u32, BUF_HASH_FIRST)[count] = (u32)i;
        OUT(u32, BUF_HASH_RANKS)[i] = (u32)count++;
      }
  }
}
KERNEL(hash_leader_ids) {
  GLOBAL u32 *ids = OUT(u32, BUF_HASH_LEADERS);
  GLOBAL const u32 *ranks = IN(u32, BUF_HASH_RANKS);
  ROWS(i, SCALAR(SCALAR_ROWS)) { ids[i] = ranks[ids[i]]; }
}
/* The first row of each word of a set, in a table of row numbers. */
KERNEL(set_insert) {
  SET_WORDS;
  GLOBAL u32 *RESTRICT rows = OUT(u32, BUF_SET_SLOTS);
  GLOBAL u32 *RESTRICT hashes = OUT(u32, BUF_SET_HASHES);
  const int shift = SET_HASH_SHIFT(size);
  ITEMS(only, 1) {
    (void)only;
    for (i64 i = 0; i < SCALAR(SCALAR_ROWS); i++) {
      const u32 bit = hash_place(words[i], seed) >> shift;
      if (!direct) hashes[bit >> 5] |= 1u << (bit & 31);
      u64 at = direct ? words[i] - least : (u64)hash_place(words[i], seed) & (u64)(size - 1);
      while (rows[at] != HASH_EMPTY && words[rows[at]] != words[i]) at = (at + 1) & (u64)(size - 1);
      if (rows[at] == HASH_EMPTY) rows[at] = (u32)i;
    }
  }
}
#undef LISTS
#undef LOOK_UP
#else
/* The same of a table that has a place for each word; hash_insert fills the others. */
KERNEL(set_insert) {
  SET_WORDS;
  (void)seed, (void)size, (void)direct;
  ROWS(i, SCALAR(SCALAR_ROWS)) { ATOMIC_MIN(OUT(u32, BUF_SET_SLOTS) + (words[i] - least), (u32)i); }
}
/* A work item does a row. A slot has the least row of the words that were put there. */
KERNEL(hash_insert) {
  GLOBAL const u64 *words = IN(u64, BUF_HASH_WORDS);
  GLOBAL u32 *slots = OUT(u32, BUF_HASH_SLOTS);
  const u64 seed = (u64)SCALAR(SCALAR_HASH_SEED);
  const u32 last = (u32)(SCALAR(SCALAR_HASH_SIZE) - 1);
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const u64 word = words[i];
    u32 at = hash_place(word, seed) & last, found = LOAD_RELAXED(slots + at);
    for (;;) {
      if (found == HASH_EMPTY) {
        found = ATOMIC_EXCHANGE_IF(slots + at, HASH_EMPTY, (u32)i);
        if (found == HASH_EMPTY) break;
      }
      if (words[found] == word) {
        if ((u32)i < found) ATOMIC_MIN(slots + at, (u32)i);
        break;
      }
      at = (at + 1) & last;
      found = LOAD_RELAXED(slots + at);
    }
    OUT(u32, BUF_HASH_IDS)[i] = at;
  }
}
KERNEL(hash_firsts) { /* which rows are first in their group */
  PACK_ROOM;
  const i64 n = SCALAR(SCALAR_ROWS);
  PACK(OUT(u32, BUF_HASH_BITS), n, i, IN(u32, BUF_HASH_SLOTS)[IN(u32, BUF_HASH_WORDS)[i]] == (u32)i)
}
KERNEL(hash_number) { /* slots of groups get their numbers */
  ROWS(g, SCALAR(SCALAR_ROWS)) {
    OUT(u32, BUF_HASH_SLOTS)[IN(u32, BUF_HASH_IDS)[IN(i64, BUF_HASH_GROUPS)[g]]] = (u32)g;
  }
}
KERNEL(hash_ids) {
  GLOBAL u32 *ids = OUT(u32, BUF_HASH_IDS);
  ROWS(i, SCALAR(SCALAR_ROWS)) { ids[i] = IN(u32, BUF_HASH_SLOTS)[ids[i]]; }
}
#endif
