// bindings/java/src/main/java/io/ruda/Plan.java - an operator prepared for fixed layouts.
// SPDX-License-Identifier: Apache-2.0
package io.ruda;

import io.ruda.internal.Raw;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** An operator prepared for fixed layouts, run into the caller's tensors; made by a PlanBuilder. */
public final class Plan extends NativeHandle {
  private final Map<String, Integer> slots = new LinkedHashMap<>();
  private final Set<String> outputs = new LinkedHashSet<>();

  Plan(long pointer) {
    super(pointer);
    long count = get(0);
    for (int slot = 0; slot < count; ++slot) {
      final int number = slot;
      long[] isOutput = new long[1];
      String name =
          use(p -> readText((text, needed) -> Raw.rudax_plan_slot(p, number, text, needed, isOutput), 64));
      slots.put(name, slot);
      if (isOutput[0] != 0) outputs.add(name);
    }
  }

  private long get(int what) {
    long[] value = new long[1];
    with(p -> Raw.rudax_plan_get(p[0], what, value), this);
    return value[0];
  }

  private String text(int what) {
    return use(p -> readText((text, needed) -> Raw.rudax_plan_text(p, what, text, needed), 128));
  }

  @Override
  String describe() {
    return op() + " by " + kernel();
  }

  /** The operators of the library. */
  public static List<String> opNames() {
    List<String> names = new ArrayList<>();
    for (int i = 0; i < Raw.ruda_op_count(); ++i) {
      final int index = i;
      names.add(readText((text, needed) -> Raw.rudax_op_name(index, text, needed), 64));
    }
    return names;
  }

  /** The kernels of an operator on the CPU, best first. */
  public static List<String> opKernels(String op) {
    return opKernels(op, Backend.CPU);
  }

  /** The kernels of an operator on a backend, a constant of Backend, best first. */
  public static List<String> opKernels(String op, int backend) {
    need("op", op);
    Backend.check("backend", backend, false);
    return readText((text, needed) -> Raw.ruda_op_kernels(text("op", op), backend, text, needed), 1024).lines().toList();
  }

  /** The names of the operands. */
  public Set<String> slots() {
    needOpen();
    return Set.copyOf(slots.keySet());
  }

  public boolean isOutput(String slot) {
    needOpen();
    return outputs.contains(slot);
  }

  public String op() {
    return text(0);
  }

  public String kernel() {
    return text(1);
  }

  public long workspaceBytes() {
    return get(1);
  }

  public boolean isCapturable() {
    return get(3) != 0;
  }

  public boolean isDeterministic() {
    return get(4) != 0;
  }

  /** Which kernel was chosen and why each better one declined. */
  public String explain() {
    return use(p -> readText((text, needed) -> Raw.ruda_plan_explain(p, text, needed), 1024));
  }

  public void warm(Stream stream) {
    with(p -> Raw.ruda_plan_warm(p[0], p[1]), this, need("stream", stream));
  }

  // What the library says of an operand that is bound by another kind.
  private static final Pattern BIND_ERROR =
      Pattern.compile("bindings\\[\\d+\\] \\((\\w+)\\): kind is .*, expected RUDA_BIND_\\w+ \\((\\d)\\)");

  private static String expected(String name, int kind) {
    if (kind == BindKind.TENSOR) return "a tensor";
    if (kind != BindKind.HANDLE) return "a number";
    return name.equals("schedule") ? "a PagedSchedule" : "another object of the library";
  }

  private static IllegalArgumentException wrongKind(String name, Object value, String expected) {
    String type = value.getClass().getSimpleName(), article = "AEIO".indexOf(type.charAt(0)) >= 0 ? "an " : "a ";
    String shape = value instanceof Tensor tensor ? " of shape " + Arrays.toString(tensor.shape()) : "";
    return new IllegalArgumentException(name + " is " + article + type + shape + ", expected " + expected);
  }

  public void execute(Stream stream, Map<String, ?> operands) {
    execute(stream, operands, null, null, 0);
  }

  /**
   * Runs the plan. Values are tensors, other objects of the library, integers and doubles, by the names of
   * the operands; null is an operand that is left out. An integer that is given for a double is converted where it is
   * exact. workspace and cancel may be null; a timeout of 0 is none.
   */
  public void execute(
      Stream stream, Map<String, ?> operands, Workspace workspace, CancelToken cancel, long timeoutNanos) {
    needOpen();
    unsigned("timeoutNanos", timeoutNanos);
    int given = (int) need("operands", operands, "a map").values().stream().filter(Objects::nonNull).count();
    long[] numbers = new long[3 * given];
    NativeHandle[] all = new NativeHandle[4 + given];
    all[0] = this;
    all[1] = need("stream", stream);
    all[2] = free("workspace", workspace);
    all[3] = free("cancel", cancel);
    int at = 0;
    for (Map.Entry<String, ?> operand : operands.entrySet()) {
      Integer slot = slots.get(operand.getKey());
      if (slot == null)
        throw new IllegalArgumentException(
            op() + " has no operand " + quoted(String.valueOf(operand.getKey())) + ": it has " + String.join(", ", slots.keySet()));
      Object value = operand.getValue();
      if (value == null) continue;
      numbers[3 * at] = slot;
      if (value instanceof NativeHandle) {
        numbers[3 * at + 1] = value instanceof Tensor ? BindKind.TENSOR : BindKind.HANDLE;
        all[4 + at] = free(operand.getKey(), (NativeHandle) value);
      } else if (value instanceof Double || value instanceof Float) {
        numbers[3 * at + 1] = BindKind.F64;
        numbers[3 * at + 2] = Double.doubleToRawLongBits(((Number) value).doubleValue());
      } else if (!(value instanceof Long || value instanceof Integer || value instanceof Short || value instanceof Byte)) {
        throw wrongKind(operand.getKey(), value, "a tensor, another object of the library or a number");
      } else {
        numbers[3 * at + 1] = BindKind.I64;
        numbers[3 * at + 2] = ((Number) value).longValue();
      }
      ++at;
    }
    try {
      with(p -> {
        for (int i = 4; i < p.length; ++i)
          if (p[i] != 0) numbers[3 * (i - 4) + 2] = p[i];
        Raw.rudax_plan_execute(p[0], p[1], p[2], numbers, p[3], timeoutNanos);
      }, all);
    } catch (RudaException error) {
      Matcher wrong = BIND_ERROR.matcher(error.getMessage());
      if (!wrong.find()) throw error;
      String name = wrong.group(1);
      throw wrongKind(name, operands.get(name), expected(name, Integer.parseInt(wrong.group(2))));
    }
  }
}
