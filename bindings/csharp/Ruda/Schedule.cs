// bindings/csharp/Ruda/Schedule.cs - the schedule of a paged key-value cache.
// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using Ruda.Interop;

namespace Ruda {
  /// <summary>Which pages of a key-value cache hold which tokens, and which queries are asked: what paged_append and
  /// paged_attention are given beside their tensors.</summary>
  public sealed class PagedSchedule : NativeObject<PagedScheduleHandle> {
    /// <param name="pageSize">tokens a page</param>
    /// <param name="pages">pages of the cache</param>
    public PagedSchedule(Context context, uint pageSize, uint pages, uint maxSequences, uint maxQueries,
                         uint maxTablePages)
        : base(Make(context, pageSize, pages, maxSequences, maxQueries, maxTablePages)) {
    }

    static PagedScheduleHandle Make(Context context, uint pageSize, uint pages, uint maxSequences, uint maxQueries,
                                    uint maxTablePages) {
      PagedScheduleHandle made;
      RudaNative.rudax_schedule_create(Need.H("context", context), pageSize, pages, maxSequences, maxQueries, maxTablePages, out made);
      return made;
    }

    static void Check(string name, long[] values, long least) {
      Need.Given(name, values);
      for (int i = 0; i < values.Length; ++i)
        if (values[i] < least || values[i] > uint.MaxValue)
          throw new ArgumentException(name + "[" + i + "] is " + values[i] + ", expected " + least + " to " +
                                      uint.MaxValue);
    }

    /// <summary>Replaces the whole schedule; on an error the former one stays.</summary>
    /// <param name="tables">a row of pages for each sequence, -1 = no page, as after the end of a shorter row</param>
    /// <param name="lengths">tokens of each sequence, those of this step's queries included</param>
    /// <param name="sequenceIds">the sequence of each query</param>
    /// <param name="positions">the place of each query in its sequence</param>
    public void Set(Stream stream, long[][] tables, long[] lengths, long[] sequenceIds, long[] positions) {
      Need.Given("tables", tables);
      for (int i = 0; i < tables.Length; ++i) Check("tables[" + i + "]", tables[i], -1);
      Check("lengths", lengths, 0);
      Check("sequenceIds", sequenceIds, 0);
      Check("positions", positions, 0);
      if (tables.Length != lengths.Length)
        throw new ArgumentException("lengths has " + Need.Counted(lengths.Length, "number") + ", expected " + tables.Length +
                                    " as tables");
      if (sequenceIds.Length != positions.Length)
        throw new ArgumentException("positions has " + Need.Counted(positions.Length, "number") + ", expected " +
                                    sequenceIds.Length + " as sequenceIds");
      int width = 0;
      foreach (long[] row in tables) width = Math.Max(width, row.Length);
      // Every row is sent as long as the longest: what no schedule of these limits can be is not laid out first.
      long pages = (long)tables.Length * width;
      if (pages > Get(2) * Get(4))
        throw new ArgumentException("tables has " + Need.Counted(tables.Length, "row") + " of up to " +
                                    Need.Counted(width, "page") + ", expected at most " + Get(2) + " of at most " + Get(4));
      long count = 3 + pages + lengths.Length + 2L * positions.Length;
      if (count > int.MaxValue)
        throw new ArgumentException("the schedule has " + count + " numbers, expected at most " + int.MaxValue);
      List<long> values = new List<long> { tables.Length, width, positions.Length };
      foreach (long[] row in tables) {
        values.AddRange(row);
        for (int i = row.Length; i < width; ++i) values.Add(-1);
      }
      values.AddRange(lengths);
      values.AddRange(sequenceIds);
      values.AddRange(positions);
      RudaNative.rudax_schedule_set(H, Need.H("stream", stream), values.ToArray(), (uint)values.Count);
    }

    /// <summary>As Set with ints.</summary>
    public void Set(Stream stream, int[][] tables, int[] lengths, int[] sequenceIds, int[] positions) {
      Need.Given("tables", tables);
      for (int i = 0; i < tables.Length; ++i) Need.Given("tables[" + i + "]", tables[i]);
      Set(stream, Array.ConvertAll(tables, Widened), Widened(Need.Given("lengths", lengths)),
          Widened(Need.Given("sequenceIds", sequenceIds)), Widened(Need.Given("positions", positions)));
    }

    static long[] Widened(int[] values) {
      return Array.ConvertAll(values, value => (long)value);
    }

    /// <summary>The next step: every sequence that has tokens grows by one, and these are the queries.</summary>
    public void Advance(Stream stream) {
      RudaNative.ruda_paged_schedule_advance(H, Need.H("stream", stream));
    }

    long Get(uint what) {
      ulong value;
      RudaNative.rudax_schedule_get(H, what, out value);
      return (long)value;
    }

    internal override string Describe() {
      return "of " + Need.Counted(Pages, "page") + " of " + Need.Counted(PageSize, "token") + ", " +
             Need.Counted(Sequences, "sequence") + ", " + (Queries == 1 ? "1 query" : Queries + " queries");
    }

    public long PageSize {
      get { return Get(0); }
    }
    public long Pages {
      get { return Get(1); }
    }
    /// <summary>Of the step that is set; 0 before the first.</summary>
    public long Sequences {
      get { return Get(5); }
    }
    public long Queries {
      get { return Get(6); }
    }
    /// <summary>Rises with every Set and Advance.</summary>
    public long Generation {
      get { return Get(7); }
    }
  }
}
