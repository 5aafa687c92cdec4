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
import io.ruda.RopePairing;
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
