// bindings/java/src/main/java/io/ruda/PagedSchedule.java - the schedule of a paged key-value cache.
// SPDX-License-Identifier: Apache-2.0
package io.ruda;

import io.ruda.internal.Raw;
import java.util.Arrays;

/**
 * Which pages of a key-value cache hold which tokens, and which queries are asked: what paged_append and
 * paged_attention are given beside their tensors.
 */
public final class PagedSchedule extends NativeHandle {
  /** pageSize is in tokens; pages are those of the cache. */
  public PagedSchedule(
      Context context, int pageSize, int pages, int maxSequences, int maxQueries, int maxTablePages) {
    super(need("context", context).use(p -> {
      long[] made = new long[1];
      Raw.rudax_schedule_create(p, unsigned("pageSize", pageSize), unsigned("pages", pages),
          unsigned("maxSequences", maxSequences), unsigned("maxQueries", maxQueries),
          unsigned("maxTablePages", maxTablePages), made);
      return made[0];
    }));
  }

  private static void check(String name, long[] values, long least) {
    need(name, values);
    for (int i = 0; i < values.length; ++i)
      if (values[i] < least || values[i] > 0xFFFFFFFFL)
        throw new IllegalArgumentException(
            name + "[" + i + "] is " + values[i] + ", expected " + least + " to " + 0xFFFFFFFFL);
  }

  /**
   * Replaces the whole schedule; on an error the former one stays. tables has a row of pages for each sequence, -1 = no
   * page, as after the end of a shorter row; lengths are the tokens of each sequence, those of this step's queries included;
   * each query has its sequence id and its position there.
   */
  public void set(Stream stream, long[][] tables, long[] lengths, long[] sequenceIds, long[] positions) {
    needAll("tables", tables, "a list");
    check("lengths", lengths, 0);
    check("sequenceIds", sequenceIds, 0);
    check("positions", positions, 0);
    for (int i = 0; i < tables.length; ++i) check("tables[" + i + "]", tables[i], -1);
    if (tables.length != lengths.length)
      throw new IllegalArgumentException(
          "lengths has " + counted(lengths.length, "number") + ", expected " + tables.length + " as tables");
    if (sequenceIds.length != positions.length)
      throw new IllegalArgumentException(
          "positions has " + counted(positions.length, "number") + ", expected " + sequenceIds.length + " as sequenceIds");
    int width = Arrays.stream(tables).mapToInt(row -> row.length).max().orElse(0);
    long pages = (long) tables.length * width, room = get(2) * get(4);
    // Every row is sent as long as the longest: what no schedule of these limits can be is not laid out first.
    if (pages > room)
      throw new IllegalArgumentException("tables has " + counted(tables.length, "row") + " of up to "
          + counted(width, "page") + ", expected at most " + get(2) + " of at most " + get(4));
    long count = 3 + pages + lengths.length + 2L * positions.length;
    if (count > Integer.MAX_VALUE)
      throw new IllegalArgumentException("the schedule has " + count + " numbers, expected at most " + Integer.MAX_VALUE);
    int at = 3;
    long[] numbers = new long[(int) count];
    Arrays.fill(numbers, -1);
    numbers[0] = tables.length;
    numbers[1] = width;
    numbers[2] = positions.length;
    for (long[] row : tables) {
      System.arraycopy(row, 0, numbers, at, row.length);
      at += width;
    }
    for (long[] part : new long[][] {lengths, sequenceIds, positions}) {
      System.arraycopy(part, 0, numbers, at, part.length);
      at += part.length;
    }
    with(p -> Raw.rudax_schedule_set(p[0], p[1], numbers), this, need("stream", stream));
  }

  /** As set with ints. */
  public void set(Stream stream, int[][] tables, int[] lengths, int[] sequenceIds, int[] positions) {
    needAll("tables", tables, "a list");
    set(stream, Arrays.stream(tables).map(PagedSchedule::widened).toArray(long[][]::new),
        widened(need("lengths", lengths, "a list")), widened(need("sequenceIds", sequenceIds, "a list")),
        widened(need("positions", positions, "a list")));
  }

  private static long[] widened(int[] values) {
    return Arrays.stream(values).asLongStream().toArray();
  }

  /** The next step: every sequence that has tokens grows by one, and these are the queries. */
  public void advance(Stream stream) {
    with(p -> Raw.ruda_paged_schedule_advance(p[0], p[1]), this, need("stream", stream));
  }

  private long get(int what) {
    long[] value = new long[1];
    with(p -> Raw.rudax_schedule_get(p[0], what, value), this);
    return value[0];
  }

  @Override
  String describe() {
    return "of " + counted(pages(), "page") + " of " + counted(pageSize(), "token") + ", " + counted(sequences(), "sequence")
        + ", " + (queries() == 1 ? "1 query" : queries() + " queries");
  }

  public long pageSize() {
    return get(0);
  }

  public long pages() {
    return get(1);
  }

  /** Of the step that is set; 0 before the first. */
  public long sequences() {
    return get(5);
  }

  public long queries() {
    return get(6);
  }

  /** Rises with every set and advance. */
  public long generation() {
    return get(7);
  }
}
