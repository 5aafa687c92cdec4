// bindings/java/src/main/java/io/ruda/PlanBuilder.java - fills the descriptor of any operator by field names.
// SPDX-License-Identifier: Apache-2.0
package io.ruda;

import io.ruda.internal.Raw;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;

/**
 * Makes the plan of an operator: its operands and parameters by the names of its descriptor in the C API,
 * options as "options.kernel" and so on; a bit mask of axes ends in _mask, as "axes_mask". A value that is null keeps
 * its default. A name that the operator does not have, or a value of another kind, is refused by create. A
 * parameter that takes an enumeration takes its constants, as Binary.ADD, or their names, as "add".
 */
public final class PlanBuilder {
  private final String op;
  private final StringBuilder names = new StringBuilder();
  private final List<Long> values = new ArrayList<>();
  private final List<NativeHandle> objects = new ArrayList<>();
  private final List<String> objectNames = new ArrayList<>();
  private final List<Integer> places = new ArrayList<>();

  public PlanBuilder(String op) {
    this.op = NativeHandle.need("op", op);
    NativeHandle.text("op", op);
  }

  private PlanBuilder add(String name, char tag, LongStream numbers) {
    if (NativeHandle.need("name", name).isEmpty() || name.indexOf(' ') >= 0 || name.indexOf('\0') >= 0)
      throw new IllegalArgumentException("name is " + NativeHandle.quoted(name) + ", expected the name of a parameter");
    NativeHandle.whole("name", name);
    if (names.length() > 0) names.append(' ');
    names.append(name);
    values.add((long) tag);
    numbers.forEach(values::add);
    return this;
  }

  private PlanBuilder addObject(String name, char tag, NativeHandle object) {
    if (object == null) return this;
    add(name, tag, LongStream.of(0));
    objects.add(object);
    objectNames.add(name);
    places.add(values.size() - 1);
    return this;
  }

  public PlanBuilder set(String name, Tensor value) {
    return addObject(name, 'T', value);
  }

  public PlanBuilder set(String name, NativeHandle value) {
    return addObject(name, value instanceof Tensor ? 'T' : 'h', value);
  }

  public PlanBuilder set(String name, TensorDesc value) {
    if (value == null) return this;
    add(name, 't', LongStream.of(value.dtype, 0, value.shape.length, value.strides == null ? 0 : 1));
    for (long extent : value.shape) values.add(extent);
    if (value.strides != null)
      for (long stride : value.strides) values.add(stride);
    return this;
  }

  /** An integer; of a field that is unsigned 64 bits wide, values from 2^63 on go through setUnsigned. */
  public PlanBuilder set(String name, long value) {
    return add(name, 'i', LongStream.of(value));
  }

  /** The bits of an unsigned integer, as of Long.parseUnsignedLong. */
  public PlanBuilder setUnsigned(String name, long bits) {
    return add(name, 'u', LongStream.of(bits));
  }

  public PlanBuilder set(String name, boolean value) {
    return add(name, 'b', LongStream.of(value ? 1 : 0));
  }

  public PlanBuilder set(String name, double value) {
    return add(name, 'f', LongStream.of(Double.doubleToRawLongBits(value)));
  }

  public PlanBuilder set(String name, long[] value) {
    if (value == null) return this;
    return add(name, 'a', LongStream.concat(LongStream.of(value.length), LongStream.of(value)));
  }

  public PlanBuilder set(String name, double[] value) {
    if (value == null) return this;
    add(name, 'g', LongStream.of(value.length));
    for (double number : value) values.add(Double.doubleToRawLongBits(number));
    return this;
  }

  public PlanBuilder set(String name, String value) {
    if (value == null) return this;
    byte[] raw = NativeHandle.utf8(NativeHandle.need("name", name).substring(name.lastIndexOf('.') + 1), value);
    add(name, 's', LongStream.of(raw.length));
    for (byte b : raw) values.add((long) b & 0xFF);
    return this;
  }

  public Plan create(Context context) {
    NativeHandle.need("context", context);
    long[] numbers = values.stream().mapToLong(Long::longValue).toArray();
    NativeHandle[] all = new NativeHandle[objects.size() + 1];
    all[0] = context;
    for (int i = 0; i < objects.size(); ++i) all[i + 1] = NativeHandle.free(objectNames.get(i), objects.get(i));
    long[] made = new long[1];
    NativeHandle.with(p -> {
      for (int i = 0; i < places.size(); ++i) numbers[places.get(i)] = p[i + 1];
      Raw.rudax_plan_create(p[0], NativeHandle.text("op", op), NativeHandle.text("names", names.toString()), numbers, made);
    }, all);
    return new Plan(made[0]);
  }
}
