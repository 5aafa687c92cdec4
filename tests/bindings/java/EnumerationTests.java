// tests/bindings/java/EnumerationTests.java - parameters that take a constant of a class: names, and what is none.
// SPDX-License-Identifier: Apache-2.0
import io.ruda.Activation;
import io.ruda.Backend;
import io.ruda.Binary;
import io.ruda.Context;
import io.ruda.DType;
import io.ruda.LogLevel;
import io.ruda.Ops;
import io.ruda.PagedSchedule;
import io.ruda.Plan;
import io.ruda.PlanBuilder;
import io.ruda.Rope;
import io.ruda.RopeFlags;
import io.ruda.RopePairing;
import io.ruda.RopeParams;
import io.ruda.RopeScaling;
import io.ruda.Splits;
import io.ruda.Stream;
import io.ruda.Tensor;
import io.ruda.TensorDesc;
import io.ruda.Unary;
import java.util.Arrays;
import java.util.Map;

final class EnumerationTests {
  private static final String SATURATE = "expected one of Overflow: default, saturate, nonfinite";

  private EnumerationTests() {}

  public static void values() {
    try (Context c = new Context(Backend.CPU); Stream s = new Stream(c)) {
      Tensor x = Tensor.from(s, c, new float[] {1, -2}, 2), y = new Tensor(c, DType.F32, 2);
      float[] want = {-1, 2};
      Tests.check(Arrays.equals(Ops.unary(s, x, Unary.NEG).toFloats(s), want), "unary");
      Tests.check(Arrays.equals(Ops.unary(s, x, Unary.of("neg")).toFloats(s), want), "unary of a name");
      Tests.equal(Activation.of("GELU_tanh"), Activation.GELU_TANH, "a name in any case");
      for (PlanBuilder builder : new PlanBuilder[] {new PlanBuilder("unary").set("op", Unary.NEG),
               new PlanBuilder("unary").set("op", "neg"), new PlanBuilder("unary").set("op", "NEG")})
        try (Plan plan = builder.set("x", x).create(c)) {
          plan.execute(s, Map.of("x", x, "y", y));
          Tests.check(Arrays.equals(y.toFloats(s), want), "a plan of unary");
        }
      new PlanBuilder("copy").set("x", x).set("dtype", "bf16").create(c).close();
      Tests.equal(RopePairing.INTERLEAVED, Rope.INTERLEAVED, "one prefix");
      Tests.equal(Splits.AUTO, -1, "the bits of 2^32 - 1");
      Tests.equal(Binary.name(Binary.ADD), "ADD", "name");
    }
  }

  /** Names in place of constants, booleans in place of 0 and 1, the common options of many. */
  public static void overloads() {
    try (Context c = new Context(Backend.CPU); Stream s = new Stream(c);
         PagedSchedule schedule = new PagedSchedule(c, 2, 2, 1, 1, 1)) {
      Tensor x = Tensor.from(s, c, new float[] {1, -2}, 2);
      Tests.check(Arrays.equals(Ops.binary(s, x, x, "Mul").toFloats(s), new float[] {1, 4}), "binary");
      Tests.check(Arrays.equals(Ops.unary(s, x, "neg").toFloats(s), new float[] {-1, 2}), "unary");
      Tests.check(Arrays.equals(Ops.reduce(s, x, "max_abs").toFloats(s), new float[] {2}), "reduce");
      ArgumentTests.refuses("op is \"abs\", expected one of Binary: add, sub, ", () -> Ops.binary(s, x, x, "abs"));
      ArgumentTests.refuses("op is null, expected a text", () -> Ops.binary(s, x, x, null));
      Tests.equal(DType.name(99), "99", "a number without a name");
      schedule.set(s, new int[][] {{1}}, new int[] {2}, new int[] {0}, new int[] {1});
      Tensor q = new Tensor(c, DType.F32, 1, 1, 1).fill(s, 1), keys = new Tensor(c, DType.F32, 2, 2, 1, 1).fill(s, 3);
      Tests.equal(Ops.pagedAttention(s, schedule, q, keys, keys, 1, true)[0].toFloats(s)[0], 3f, "causal");
      Tests.equal(Ops.pagedAttention(s, schedule, q, keys, keys, 1, false, Splits.AUTO)[0].toFloats(s)[0], 3f, "not causal");
      // A third tensor, and a fourth, change nothing of what the first two are.
      Tensor one = new Tensor(c, DType.F32, 2, 2, 1, 1).fill(s, 3), two = new Tensor(c, DType.F32, 2, 2, 1, 1).fill(s, 0);
      Tensor row = new Tensor(c, DType.F32, 1, 1, 1).fill(s, 7);
      Tensor[] caches = Ops.pagedAppend(s, schedule, q, one, row, two);
      Tests.check(Arrays.equals(caches[0].toFloats(s), new float[] {3, 3, 3, 1}), "keys");
      Tests.check(Arrays.equals(caches[1].toFloats(s), new float[] {0, 0, 0, 7}), "values");
      Tests.check(Arrays.equals(Ops.pagedAppend(s, schedule, q, keys)[0].toFloats(s), new float[] {3, 3, 3, 1}), "keys alone");
      int[] zero = {0};
      ArgumentTests.refuses("tables[0] is null", () -> schedule.set(s, new int[][] {null}, zero, zero, zero));
      ArgumentTests.refuses("lengths is null", () -> schedule.set(s, new int[][] {zero}, null, zero, zero));
      Tensor turned = Tensor.from(s, c, new float[] {1, 2, 3, 4}, 1, 1, 4), place = Tensor.from(s, c, new int[] {1}, 1);
      float[] half = Ops.rope(s, turned, place, RopePairing.HALF, 1e4).toFloats(s);
      Tests.check(Arrays.equals(half, Ops.rope(s, turned, place, 1e4).toFloats(s)), "half is the default");
      float[] pairs = Ops.rope(s, turned, place, RopePairing.INTERLEAVED, 1e4).toFloats(s);
      Tests.check(!Arrays.equals(pairs, half) && Math.abs(pairs[0] - (Math.cos(1) - 2 * Math.sin(1))) < 1e-5, "interleaved");
    }
  }

  /** Many options as an object. */
  public static void options() {
    try (Context c = new Context(Backend.CPU); Stream s = new Stream(c)) {
      float[] values = {1, 2, 3, 4};
      Tensor x = Tensor.from(s, c, values, 1, 1, 4), place = Tensor.from(s, c, new int[] {1}, 1);
      RopeParams half = new RopeParams().theta(1e4);
      Tests.check(Arrays.equals(Ops.rope(s, x, place, half).toFloats(s), Ops.rope(s, x, place, 1e4).toFloats(s)), "theta");
      for (RopeParams pairs : new RopeParams[] {new RopeParams().pairing("interleaved").theta(1e4),
               new RopeParams().theta(1e4).pairing(RopePairing.INTERLEAVED)})
        Tests.check(Arrays.equals(Ops.rope(s, x, place, pairs).toFloats(s),
            Ops.rope(s, x, place, RopePairing.INTERLEAVED, 1e4).toFloats(s)), "pairing");
      // Frequencies 1/2 and 1/200; of two elements that turn 1/2 alone.
      float[] linear = Ops.rope(s, x, place, new RopeParams().theta(1e4).scaling(RopeScaling.LINEAR).factor(2)).toFloats(s);
      near(linear, Math.cos(0.5) - 3 * Math.sin(0.5), 2 * Math.cos(0.005) - 4 * Math.sin(0.005),
          3 * Math.cos(0.5) + Math.sin(0.5), 4 * Math.cos(0.005) + 2 * Math.sin(0.005));
      RopeParams two = new RopeParams().theta(1e4).scaling("linear").factor(2).rotaryDim(2).attentionFactor(3);
      near(Ops.rope(s, x, place, two).toFloats(s), 3 * (Math.cos(0.5) - 2 * Math.sin(0.5)),
          3 * (2 * Math.cos(0.5) + Math.sin(0.5)), 3, 4);
      Tensor back = Ops.rope(s, Ops.rope(s, x, place, half), place, new RopeParams().theta(1e4).direction("inverse"));
      near(back.toFloats(s), 1, 2, 3, 4);
      Tensor frequencies = Tensor.from(s, c, new float[] {0.5f, 0.005f}, 2);
      near(Ops.rope(s, x, place, frequencies, new RopeParams()).toFloats(s), linear[0], linear[1], linear[2], linear[3]);
      RopeParams yarn = new RopeParams().theta(1e4).scaling(RopeScaling.YARN).factor(4).originalPositions(64).betaFast(16)
                            .betaSlow(2).mscale(1).mscaleAllDim(0.5).flags(RopeFlags.EXACT_RAMP);
      Tensor y = new Tensor(c, DType.F32, 1, 1, 4);
      try (Plan plan = new PlanBuilder("rope").set("x", x).set("positions", place).set("theta", 1e4).set("scaling", "yarn")
                           .set("factor", 4.0).set("original_positions", 64).set("beta_fast", 16.0).set("beta_slow", 2.0)
                           .set("mscale", 1.0).set("mscale_all_dim", 0.5).set("flags", "exact_ramp").create(c)) {
        plan.execute(s, Map.of("x", x, "positions", place, "y", y));
        Tests.check(Arrays.equals(Ops.rope(s, x, place, yarn).toFloats(s), y.toFloats(s)), "yarn as a plan");
      }
      String needed = "theta is 0, expected a number above 0 where frequencies is null";
      ArgumentTests.refuses(needed, () -> Ops.rope(s, x, place, new RopeParams()));
      ArgumentTests.refuses(needed, () -> Ops.rope(s, x, place, null, new RopeParams()));
      ArgumentTests.refuses("params is null, expected a RopeParams", () -> Ops.rope(s, x, place, frequencies, null));
      ArgumentTests.refuses("scaling is 9, expected one of RopeScaling: none, linear, ",
          () -> Ops.rope(s, x, place, new RopeParams().theta(1e4).scaling(9)));
      ArgumentTests.refuses("direction is \"up\", expected one of RopeDirection: forward, inverse",
          () -> new RopeParams().direction("up"));
    }
  }

  private static void near(float[] found, double... expected) {
    for (int i = 0; i < expected.length; ++i)
      Tests.check(Math.abs(found[i] - expected[i]) < 1e-5, i + ": " + found[i] + ", expected " + expected[i]);
    Tests.equal(found.length, expected.length, "elements");
  }

  public static void unknown() {
    try (Context c = new Context(Backend.CPU); Stream s = new Stream(c)) {
      Tensor x = Tensor.from(s, c, new float[] {1, -2}, 2);
      for (int wrong : new int[] {999, -1, 0})
        ArgumentTests.refuses("op is " + wrong + ", expected one of Binary: add, sub, mul, ", () -> Ops.binary(s, x, x, wrong));
      ArgumentTests.refuses("name is \"plus\", expected one of Binary: add, sub, ", () -> Binary.of("plus"));
      ArgumentTests.refuses("shift_left, shift_right", () -> Binary.of("plus"));
      ArgumentTests.refuses("name is null", () -> Binary.of(null));
      ArgumentTests.fails("binary: op is 999, expected one of Binary: add, sub, ",
          () -> new PlanBuilder("binary").set("a", x).set("op", 999).create(c));
      ArgumentTests.fails("binary: op is \"plus\", expected one of Binary: add, ",
          () -> new PlanBuilder("binary").set("a", x).set("op", "plus").create(c));
      ArgumentTests.fails("copy: overflow is \"clip\", " + SATURATE,
          () -> new PlanBuilder("copy").set("x", x).set("overflow", "clip").create(c));
      ArgumentTests.fails("copy: overflow cannot hold a value of kind number, " + SATURATE,
          () -> new PlanBuilder("copy").set("x", x).set("overflow", 1.0).create(c));
      for (boolean wrong : new boolean[] {true, false}) {
        ArgumentTests.fails("binary: op cannot hold a value of kind bool, expected one of Binary: add, ",
            () -> new PlanBuilder("binary").set("a", x).set("op", wrong).create(c));
        ArgumentTests.fails("copy: dtype cannot hold a value of kind bool, expected one of DType: f64, ",
            () -> new PlanBuilder("copy").set("x", x).set("dtype", wrong).create(c));
        ArgumentTests.fails("softmax: math cannot hold a value of kind bool, expected one of MathMode: default, ",
            () -> new PlanBuilder("softmax").set("x", x).set("options.math", wrong).create(c));
        new PlanBuilder("reduce").set("x", x).set("op", "sum").set("keepdims", wrong).create(c).close();
        new PlanBuilder("softmax").set("x", x).set("options.autotune", wrong).create(c).close();
      }
      ArgumentTests.refuses("overflow is 3, " + SATURATE, () -> x.cast(s, DType.F8E4M3, 3));
      ArgumentTests.refuses("dtype is 99, expected one of DType: f64, f32", () -> new Tensor(c, 99, 1));
      ArgumentTests.refuses("dtype is -1, expected one of DType: f64, f32", () -> new TensorDesc(-1, 1));
      ArgumentTests.refuses("backend is 9, expected one of Backend: auto, cpu, cuda", () -> new Context(9));
      ArgumentTests.refuses("backend is 9, expected one of Backend: auto, cpu, cuda", () -> Context.deviceCount(9));
      ArgumentTests.refuses("logLevel is 7, expected one of LogLevel: error, warning, info, debug",
          () -> new Context(new Context.Options().backend(Backend.CPU).logLevel(7)));
      ArgumentTests.refuses("level is 0, expected one of LogLevel: error", () -> c.setLogLevel(0));
      c.setLogLevel(LogLevel.INFO);
      ArgumentTests.fails("paged_attention: splits is \"x\", expected one of Splits: auto, or a number from 0 to 4294967295",
          () -> new PlanBuilder("paged_attention").set("splits", "x").create(c));
      Tests.equal(Plan.opKernels("unary"), Plan.opKernels("unary", Backend.CPU), "kernels");
    }
  }
}
