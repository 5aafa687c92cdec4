// tests/bindings/java/ArgumentTests.java - what the Java classes refuse, by name and value.
// SPDX-License-Identifier: Apache-2.0
import io.ruda.Backend;
import io.ruda.Binary;
import io.ruda.ChatMessage;
import io.ruda.Context;
import io.ruda.DType;
import io.ruda.NativeHandle;
import io.ruda.Ops;
import io.ruda.Overflow;
import io.ruda.PagedSchedule;
import io.ruda.Plan;
import io.ruda.PlanBuilder;
import io.ruda.Reduce;
import io.ruda.RudaException;
import io.ruda.Stream;
import io.ruda.Tensor;
import io.ruda.TensorDesc;
import io.ruda.Workspace;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;

final class ArgumentTests {
  private ArgumentTests() {}

  static void refuses(String text, Tests.Action action) {
    IllegalArgumentException error = Tests.expectThrows(IllegalArgumentException.class, action, text);
    if (error != null) Tests.check(error.getMessage().contains(text), error.getMessage() + ", expected " + text);
  }

  static void fails(String text, Tests.Action action) {
    RudaException error = Tests.expectThrows(RudaException.class, action, text);
    if (error != null) Tests.check(error.getMessage().contains(text), error.getMessage() + ", expected " + text);
  }

  public static void orders() {
    try (Context c = new Context(Backend.CPU); Stream s = new Stream(c)) {
      ByteOrder other = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN;
      ByteBuffer data = Tensor.buffer(16).order(other);
      Tensor t = new Tensor(c, DType.F32, 4), bytes = new Tensor(c, DType.U8, 16);
      String text = "data is in the order " + other + ", elements of F32 are in the order " + ByteOrder.nativeOrder();
      refuses(text, () -> t.write(s, data));
      refuses(text, () -> t.read(s, data));
      refuses(text, () -> Tensor.over(c, DType.F32, data, 4));
      bytes.write(s, data).read(s, data);
      Tensor.over(c, DType.I8, data, 16).close();
      t.write(s, data.order(ByteOrder.nativeOrder()));
    }
  }

  public static void numbers() {
    try (Context c = new Context(Backend.CPU); Stream s = new Stream(c)) {
      for (int dtype : new int[] {DType.I8, DType.U8, DType.I16, DType.U16, DType.I32, DType.U32, DType.I64, DType.U64}) {
        Tensor t = Tensor.from(s, c, dtype, new long[] {1, 100}, 2);
        Tests.check(t.dtype() == dtype && Arrays.equals(t.cast(s, DType.F32).toFloats(s), new float[] {1, 100}),
            DType.name(dtype));
      }
      refuses("data[1] is 300, expected -128 to 127 for I8", () -> Tensor.from(s, c, DType.I8, new long[] {0, 300}, 2));
      refuses("data[0] is -1, expected 0 to 65535 for U16", () -> Tensor.from(s, c, DType.U16, new long[] {-1}, 1));
      refuses("data[0] is -1, expected 0 to 9223372036854775807 for U64",
          () -> Tensor.from(s, c, DType.U64, new long[] {-1}, 1));
      refuses("data[0] is 2, expected 0 to 1 for BOOL", () -> Tensor.from(s, c, DType.BOOL, new long[] {2}, 1));
      long live = c.liveObjects();
      refuses("data has 1 element, expected 4 as shape [2, 2]", () -> Tensor.from(s, c, new float[1], 2, 2));
      refuses("data has 3 elements, expected 2 as shape [2]", () -> Tensor.from(s, c, new double[3], 2));
      refuses("data has 3 elements, expected 2 as shape [2]", () -> Tensor.from(s, c, new int[3], 2));
      refuses("data has 3 elements, expected 2 as shape [2]", () -> Tensor.from(s, c, new long[3], 2));
      refuses("data has 3 elements, expected 2 as shape [2]", () -> Tensor.from(s, c, DType.U8, new long[3], 2));
      refuses("data has 3 elements, expected 2 as shape [2]", () -> Tensor.from(s, c, DType.BF16, new double[3], 2));
      Tensor pair = new Tensor(c, DType.F32, 2);
      fails("RUDA_E_SHAPE: data has 4 bytes, expected 8 as the tensor", () -> pair.write(s, Tensor.buffer(4)));
      fails("RUDA_E_SHAPE: data has 4 bytes, expected at least 8 as the tensor", () -> pair.read(s, Tensor.buffer(4)));
      pair.close();
      Tests.equal(c.liveObjects(), live, "nothing is left of what was refused");
      refuses("dtype is BF16, expected one of integers", () -> Tensor.from(s, c, DType.BF16, new long[] {1}, 1));
      Tests.check(Arrays.equals(Tensor.from(s, c, DType.BF16, new double[] {1, 2}, 2).toShorts(s),
          new short[] {0x3F80, 0x4000}), "BF16");
      refuses("bytes is -1, expected 0 to 9223372036854775807", () -> new Workspace(c, -1));
      refuses("bytes is 1099511627776, expected 0 to 2147483647, the most that a buffer holds",
          () -> Tensor.buffer(1L << 40));
      refuses("bytes is -1, expected 0 to 2147483647", () -> Tensor.buffer(-1));
      refuses("hostThreads is -1, expected 0 to 2147483647", () -> new Context(new Context.Options().hostThreads(-1)));
      refuses("dtype is -1, expected one of DType: f64", () -> new Tensor(c, -1, 2));
      refuses("pageSize is -1, expected 0 to 2147483647", () -> new PagedSchedule(c, -1, 1, 1, 1, 1));
      Tensor x = Tensor.from(s, c, new float[] {1, 2}, 2);
      refuses("op is -1, expected one of Unary: neg", () -> Ops.unary(s, x, -1));
      refuses("axesMask is -1, expected 0 to 2147483647", () -> Ops.reduce(s, x, Reduce.SUM, -1, false));
    }
  }

  /** Doubles become integers where they are integers of the dtype, and nowhere else. */
  public static void integersOfDoubles() {
    try (Context c = new Context(Backend.CPU); Stream s = new Stream(c)) {
      Object[][] cases = {{DType.I8, -128.0, 127.0, "-128 to 127"}, {DType.U8, 0.0, 255.0, "0 to 255"},
          {DType.I16, -32768.0, 32767.0, "-32768 to 32767"}, {DType.U16, 0.0, 65535.0, "0 to 65535"},
          {DType.I32, -0x1p31, 0x1p31 - 1, "-2147483648 to 2147483647"}, {DType.U32, 0.0, 0x1p32 - 1, "0 to 4294967295"},
          {DType.I64, -0x1p63, 0x1p63 - 1024, "-9223372036854775808 to 9223372036854775807"},
          {DType.U64, 0.0, 0x1p64 - 2048, "0 to 18446744073709551615"}, {DType.BOOL, 0.0, 1.0, "0 to 1"}};
      for (Object[] row : cases) {
        int dtype = (int) row[0];
        double least = (double) row[1], most = (double) row[2];
        Tests.check(Arrays.equals(
            Tensor.from(s, c, dtype, new double[] {least, 1, most}, 3).cast(s, DType.F64).toDoubles(s),
            new double[] {least, 1, most}), DType.name(dtype));
        for (double wrong : new double[] {Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, 0.5,
                 Math.max(most * 1.01, most + 1), least * 1.01 - 1, 1e300})
          refuses("data[1] is " + wrong + ", expected a whole number from " + row[3] + " for " + DType.name(dtype),
              () -> Tensor.from(s, c, dtype, new double[] {0, wrong}, 2));
      }
      Tests.check(Float.isNaN(Tensor.from(s, c, DType.F32, new double[] {Double.NaN}, 1).toFloats(s)[0]), "NaN as F32");
      refuses("data is null", () -> Tensor.from(s, c, DType.I8, (double[]) null, 1));
    }
  }

  public static void overflow() {
    try (Context c = new Context(Backend.CPU); Stream s = new Stream(c)) {
      Tensor x = Tensor.from(s, c, new float[] {1000, -1e9f}, 2);
      Tests.check(Arrays.equals(x.cast(s, DType.F8E4M3).toBytes(s), new byte[] {0x7E, (byte) 0xFE}), "default");
      Tests.check(Arrays.equals(x.cast(s, DType.F8E4M3, Overflow.NONFINITE).toBytes(s), new byte[] {0x7F, -1}), "NaN");
      Tests.check(Arrays.equals(x.cast(s, DType.F8E5M2, Overflow.SATURATE).toBytes(s), new byte[] {0x64, (byte) 0xFB}),
          "saturating");
      refuses("overflow is -1, expected one of Overflow: default", () -> x.cast(s, DType.F8E4M3, -1));
      fails("overflow is 1 with dtype F16", () -> x.cast(s, DType.F16, Overflow.SATURATE));
    }
  }

  public static void schedules() {
    try (Context c = new Context(Backend.CPU); Stream s = new Stream(c);
         PagedSchedule schedule = new PagedSchedule(c, 2, 4, 2, 2, 2)) {
      long[][] tables = {{2}, {0, 3}};
      long[] lengths = {1, 3}, ids = {0, 1}, positions = {0, 2};
      schedule.set(s, new long[][] {{2, -1}}, new long[] {1}, new long[] {0}, new long[] {0});
      for (long value : new long[] {-1, 1L << 32}) {
        long[] wrong = {0, value};
        String text = "[1] is " + value + ", expected 0 to 4294967295";
        refuses("lengths" + text, () -> schedule.set(s, tables, wrong, ids, positions));
        refuses("sequenceIds" + text, () -> schedule.set(s, tables, lengths, wrong, positions));
        refuses("positions" + text, () -> schedule.set(s, tables, lengths, ids, wrong));
      }
      refuses("tables[1][0] is -2, expected -1 to 4294967295",
          () -> schedule.set(s, new long[][] {{0}, {-2}}, lengths, ids, positions));
      refuses("tables[1] is null", () -> schedule.set(s, new long[][] {{0}, null}, lengths, ids, positions));
      refuses("lengths is null", () -> schedule.set(s, tables, null, ids, positions));
      long[][] jagged = new long[70000][0];
      jagged[7] = new long[40000];
      refuses("tables has 70000 rows of up to 40000 pages, expected at most 2 of at most 2",
          () -> schedule.set(s, jagged, new long[70000], ids, positions));
      int many = 20000;
      long[] each = LongStream.range(0, many).toArray(), zeros = new long[many], ones = new long[many];
      Arrays.fill(ones, 1);
      try (PagedSchedule large = new PagedSchedule(c, 1, many, many, many, 1)) {
        large.set(s, Arrays.stream(each).mapToObj(page -> new long[] {page}).toArray(long[][]::new), ones, each, zeros);
        Tests.equal(large.sequences(), (long) many, "many sequences");
      }
    }
  }

  public static void nulls() {
    try (Context c = new Context(Backend.CPU); Stream s = new Stream(c)) {
      Tensor t = new Tensor(c, DType.F32, 2);
      refuses("context is null", () -> new Tensor(null, DType.F32, 2));
      refuses("context is null", () -> new Stream(null));
      refuses("shape is null", () -> new Tensor(c, DType.F32, (long[]) null));
      refuses("data is null", () -> Tensor.from(s, c, (float[]) null, 2));
      refuses("data is null", () -> Tensor.from(s, c, DType.I8, (long[]) null, 2));
      refuses("data is null", () -> t.write(s, null));
      refuses("data is null", () -> t.read(s, null));
      refuses("axes is null", () -> t.permute((long[]) null));
      refuses("end is null", () -> t.slice(new long[1], null, null));
      refuses("shape is null", () -> new TensorDesc(DType.F32, (long[]) null));
      refuses("strides has 1 number, expected 2", () -> new TensorDesc(DType.F32, new long[2], new long[1]));
      refuses("role is null", () -> new ChatMessage(null, ""));
      refuses("op is null", () -> new PlanBuilder(null));
      refuses("context is null", () -> new PlanBuilder("rms_norm").create(null));
      refuses("b is null", () -> Ops.binary(s, t, null, Binary.ADD));
      refuses("stream is null", () -> Ops.binary(null, t, t, Binary.ADD));
      refuses("gamma is null", () -> Ops.rmsNorm(s, t, null, 1e-6));
      Tensor square = new Tensor(c, DType.F32, 2, 2);
      Ops.matmul(s, square, square, null).close();
      refuses("a is null", () -> Ops.matmul(s, null, square, null));
      refuses("kCache is null", () -> Ops.pagedAppend(s, new PagedSchedule(c, 1, 1, 1, 1, 1), t, null, null, null));
      refuses("stream is null", () -> t.fill(null, 1));
      refuses("stream is null", () -> t.toFloats(null));
      refuses("to is null", () -> t.copyTo(s, null));
      refuses("stream is null", () -> t.fence(null));
      refuses("event is null", () -> s.await(null));
      try (Plan plan = new PlanBuilder("softmax").set("x", square).create(c)) {
        refuses("stream is null", () -> plan.execute(null, Map.of("x", square, "y", square)));
        refuses("stream is null", () -> plan.warm(null));
      }
      fails("softmax: x is NULL", () -> new PlanBuilder("softmax").create(c));
      refuses("op holds a NUL at index 7", () -> new PlanBuilder("softmax\0x"));
      refuses("op holds a NUL at index 4", () -> Plan.opKernels("copy\0", Backend.CPU));
      fails("kernel holds a NUL at byte 3",
          () -> new PlanBuilder("softmax").set("x", square).set("options.kernel", "cpu\0").create(c));
    }
  }

  public static void operands() {
    try (Context c = new Context(Backend.CPU); Stream s = new Stream(c)) {
      Tensor x = Tensor.from(s, c, new float[] {1, 2}, 2), y = new Tensor(c, DType.F32, 2);
      try (Plan plan = new PlanBuilder("binary").set("a", x).set("op", Binary.ADD).create(c)) {
        Map<String, Object> given = new HashMap<>(Map.of("a", x, "y", y, "scalar", 2.0));
        given.put("b", null);
        plan.execute(s, given);
        Tests.check(Arrays.equals(y.toFloats(s), new float[] {3, 4}), "an operand that is null is left out");
        for (Number three : new Number[] {3, 3L, (byte) 3, (short) 3, 3f}) {
          plan.execute(s, Map.of("a", x, "y", y, "scalar", three));
          Tests.check(Arrays.equals(y.toFloats(s), new float[] {4, 5}), "a scalar of " + three.getClass());
        }
        fails("scalar): is the integer 9007199254740993, which no double holds",
            () -> plan.execute(s, Map.of("a", x, "y", y, "scalar", (1L << 53) + 1)));
        refuses("scalar is a BigDecimal, expected a tensor",
            () -> plan.execute(s, Map.of("a", x, "y", y, "scalar", new java.math.BigDecimal("2.5"))));
        Tensor wide = new Tensor(c, DType.I64, 1);
        Tests.equal(wide.fill(s, -(1L << 60)).toLongs(s)[0], -(1L << 60), "fill");
        refuses("value is 1152921504606846977, expected", () -> wide.fill(s, (1L << 60) + 1));
        refuses("value is 9223372036854775807, expected", () -> wide.fill(s, Long.MAX_VALUE));
        refuses("scalar is a String, expected a tensor", () -> plan.execute(s, Map.of("a", x, "y", y, "scalar", "x")));
        refuses("binary has no operand \"z\": it has a, b, y, scalar", () -> plan.execute(s, Map.of("z", x)));
        refuses("operands is null", () -> plan.execute(s, null));
        refuses("timeoutNanos is -1, expected 0 to 9223372036854775807", () -> plan.execute(s, given, null, null, -1));
      }
      refuses("name is null", () -> new PlanBuilder("rms_norm").set(null, 1));
      fails("rms_norm: x cannot hold a value of kind integer, expected a tensor",
          () -> new PlanBuilder("rms_norm").set("x", 1).create(c));
      fails("rms_norm: x cannot hold a value of kind object, expected a tensor",
          () -> new PlanBuilder("rms_norm").set("x", (NativeHandle) s).create(c));
      // What is given is quoted as the library does, and cut, so that what is expected stands behind it.
      for (String unit : new String[] {"k", "\u00e9"}) {
        String cut = '"' + unit.repeat(unit.equals("k") ? 80 : 40) + "\"...", full = unit.repeat(5000);
        fails("softmax: kernel is " + cut + ", which this backend does not have",
            () -> new PlanBuilder("softmax").set("x", x).set("options.kernel", full).create(c));
        fails("no operator is called " + cut, () -> new PlanBuilder(full).create(c));
        fails("softmax has no parameter " + cut + ": it has x", () -> new PlanBuilder("softmax").set(full, 3).create(c));
        fails("binary: op is " + cut + ", expected one of Binary: add",
            () -> new PlanBuilder("binary").set("a", x).set("op", full).create(c));
        refuses("op is " + cut + ", expected one of Binary: add", () -> Ops.binary(s, x, x, full));
      }
      refuses("op is \"\\x0a\\x22\\xe2\\x80\\xae\\xd8\\x9c\u00e9\", expected one of", () -> Ops.binary(s, x, x, "\n\"\u202e\u061c\u00e9"));
      fails("softmax has no parameter \"options.kernle\": it has options.strategy options.kernel options.math ",
          () -> new PlanBuilder("softmax").set("x", x).set("options.kernle", "x").create(c));
      fails("options.kernel", () -> new PlanBuilder("softmax").set("x", x).set("kernel", "x").create(c));
      fails("reduce has no parameter \"axes\": it has",
          () -> new PlanBuilder("reduce").set("x", x).set("op", Reduce.SUM).set("axes", 1).create(c));
      new PlanBuilder("reduce").set("x", x).set("op", Reduce.SUM).set("axes_mask", 1).create(c).close();
      // Unsigned fields of 64 bits hold every bit pattern by setUnsigned.
      new PlanBuilder("softmax").set("x", x).setUnsigned("options.workspace_limit_bytes", -1).create(c).close();
      fails("softmax: workspace_limit_bytes is -1, expected 0 to",
          () -> new PlanBuilder("softmax").set("x", x).set("options.workspace_limit_bytes", -1).create(c));
      fails("reduce: keepdims is 18446744073709551615, expected at most 4294967295",
          () -> new PlanBuilder("reduce").set("x", x).setUnsigned("keepdims", -1).create(c));
    }
  }

  /** Every overload can succeed, and tools see the names of parameters. */
  public static void overloads() {
    int found = 0;
    for (Method method : Ops.class.getMethods()) {
      List<Class<?>> types = Arrays.asList(method.getParameterTypes());
      if (method.getName().equals("binary"))
        Tests.check(types.equals(List.of(Stream.class, Tensor.class, Tensor.class, int.class))
            || types.equals(List.of(Stream.class, Tensor.class, Tensor.class, String.class)), "binary");
      if (method.getName().equals("rope"))
        Tests.check(!types.equals(List.of(Stream.class, Tensor.class, Tensor.class)), "rope without a theta");
      if (method.getName().equals("reduce") && types.size() == 5 && types.get(2) == int.class) {
        Tests.equal(method.getParameters()[3].getName(), "axesMask", "the name of a mask");
        ++found;
      }
    }
    Tests.equal(found, 1, "reduce of some axes");
    try (Context c = new Context(Backend.CPU); Stream s = new Stream(c)) {
      Tensor x = new Tensor(c, DType.F32, 1, 1, 4).fill(s, 1);
      Tests.equal(Ops.rope(s, x, Tensor.from(s, c, new int[] {0}, 1), 1e4).count(), 4L, "rope with a theta");
    }
  }
}
