// bindings/java/src/main/java/io/ruda/Tensor.java - tensors: shape, views, copies to and from buffers and
// arrays.
// SPDX-License-Identifier: Apache-2.0
package io.ruda;

import io.ruda.internal.Raw;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.stream.Collectors;

/**
 * Elements of one dtype with a shape and strides, in the memory of a context's device. A view shares storage
 * with the tensor it was made from. Buffers are direct ones in native byte order; what is between position
 * and limit counts.
 */
public final class Tensor extends NativeHandle {
  private static final int MAX_RANK = 16;
  private volatile long[] facts;

  private Tensor(long pointer) {
    super(pointer);
  }

  static Tensor of(long pointer) {
    return pointer == 0 ? null : new Tensor(pointer);
  }

  /** A tensor with undefined contents; dtype is a constant of DType. */
  public Tensor(Context context, int dtype, long... shape) {
    super(need("context", context).use(p -> {
      long[] made = new long[1];
      Raw.rudax_tensor_create(p, DType.check("dtype", dtype, false), need("shape", shape), made);
      return made[0];
    }));
  }

  /** A direct buffer in native byte order, as write, read and over want it. */
  public static ByteBuffer buffer(long bytes) {
    if (bytes < 0 || bytes > Integer.MAX_VALUE)
      throw new IllegalArgumentException(
          "bytes is " + bytes + ", expected 0 to " + Integer.MAX_VALUE + ", the most that a buffer holds");
    return ByteBuffer.allocateDirect((int) bytes).order(ByteOrder.nativeOrder());
  }

  /** An F32 tensor with a copy of `data`. */
  public static Tensor from(Stream stream, Context context, float[] data, long... shape) {
    ByteBuffer b = buffer(4L * need("data", data, "a list").length);
    b.asFloatBuffer().put(data);
    return filled(new Tensor(context, DType.F32, shape), stream, data.length, b);
  }

  /** An F64 tensor with a copy of `data`. */
  public static Tensor from(Stream stream, Context context, double[] data, long... shape) {
    ByteBuffer b = buffer(8L * need("data", data, "a list").length);
    b.asDoubleBuffer().put(data);
    return filled(new Tensor(context, DType.F64, shape), stream, data.length, b);
  }

  /** An I32 tensor with a copy of `data`. */
  public static Tensor from(Stream stream, Context context, int[] data, long... shape) {
    ByteBuffer b = buffer(4L * need("data", data, "a list").length);
    b.asIntBuffer().put(data);
    return filled(new Tensor(context, DType.I32, shape), stream, data.length, b);
  }

  /** An I64 tensor with a copy of `data`. */
  public static Tensor from(Stream stream, Context context, long[] data, long... shape) {
    ByteBuffer b = buffer(8L * need("data", data, "a list").length);
    b.asLongBuffer().put(data);
    return filled(new Tensor(context, DType.I64, shape), stream, data.length, b);
  }

  /**
   * A tensor of an integer dtype, each number within its range; for BOOL 0 and 1. Numbers of a U64 from 2^63 on are
   * given as double[], or as bits by write.
   */
  public static Tensor from(Stream stream, Context context, int dtype, long[] data, long... shape) {
    int bits = integerBits(dtype);
    boolean signed = isSigned(dtype);
    long most = dtype == DType.BOOL ? 1 : bits == 64 ? Long.MAX_VALUE : (1L << (signed ? bits - 1 : bits)) - 1;
    long least = signed ? -most - 1 : 0;
    ByteBuffer b = buffer(bits / 8L * need("data", data, "a list").length);
    for (int i = 0; i < data.length; ++i) {
      if (data[i] < least || data[i] > most)
        throw new IllegalArgumentException("data[" + i + "] is " + data[i] + ", expected " + least + " to " + most
            + " for " + DType.name(dtype));
      putInteger(b, bits, data[i]);
    }
    return filled(new Tensor(context, dtype, shape), stream, data.length, b.flip());
  }

  /**
   * A tensor of any plain dtype. Of a float one, BF16 and F16 among them: each number is rounded to it, as by cast.
   * Of an integer one: each number is a whole one within its range, for BOOL 0 or 1.
   */
  public static Tensor from(Stream stream, Context context, int dtype, double[] data, long... shape) {
    need("data", data, "a list");
    if (!isInteger(dtype))
      try (Tensor wide = from(stream, context, data, shape)) {
        return wide.cast(stream, dtype);
      }
    int bits = integerBits(dtype);
    boolean signed = isSigned(dtype);
    double end = dtype == DType.BOOL ? 2 : Math.scalb(1.0, signed ? bits - 1 : bits), least = signed ? -end : 0;
    ByteBuffer b = buffer(bits / 8L * data.length);
    for (int i = 0; i < data.length; ++i) {
      double value = data[i];
      if (!(value >= least && value < end && value == Math.rint(value)))
        throw new IllegalArgumentException("data[" + i + "] is " + value + ", expected a whole number from "
            + (long) least + " to " + Long.toUnsignedString(dtype == DType.BOOL ? 1 : -1L >>> (64 - bits + (signed ? 1 : 0)))
            + " for " + DType.name(dtype));
      putInteger(b, bits, value < 0x1p63 ? (long) value : (long) (value - 0x1p63) ^ Long.MIN_VALUE);
    }
    return filled(new Tensor(context, dtype, shape), stream, data.length, b.flip());
  }

  private static Tensor filled(Tensor made, Stream stream, int length, ByteBuffer data) {
    try {
      if (length != made.count())
        throw new IllegalArgumentException("data has " + counted(length, "element") + ", expected " + made.count() + " as shape "
            + Arrays.toString(made.shape()));
      return made.write(stream, data);
    } catch (RuntimeException error) {
      made.close();
      throw error;
    }
  }

  private static void putInteger(ByteBuffer b, int bits, long value) {
    switch (bits) {
      case 8 -> b.put((byte) value);
      case 16 -> b.putShort((short) value);
      case 32 -> b.putInt((int) value);
      default -> b.putLong(value);
    }
  }

  private static boolean isSigned(int dtype) {
    return dtype == DType.I8 || dtype == DType.I16 || dtype == DType.I32 || dtype == DType.I64;
  }

  private static boolean isInteger(int dtype) {
    return isSigned(dtype) || dtype == DType.U8 || dtype == DType.U16 || dtype == DType.U32 || dtype == DType.U64
        || dtype == DType.BOOL;
  }

  private static int integerBits(int dtype) {
    switch (dtype) {
      case DType.I8, DType.U8, DType.BOOL: return 8;
      case DType.I16, DType.U16: return 16;
      case DType.I32, DType.U32: return 32;
      case DType.I64, DType.U64: return 64;
      default:
        throw new IllegalArgumentException(
            "dtype is " + DType.name(dtype) + ", expected one of integers, or data as double[]");
    }
  }

  // Elements wider than a byte are read in the order of the machine; a block format is bytes.
  private static ByteBuffer ordered(int dtype, ByteBuffer data) {
    if (!need("data", data, "a buffer").isDirect())
      throw new IllegalArgumentException("data is a buffer on the heap, expected a direct one: use Tensor.buffer(n)");
    long[] bits = new long[1], elements = new long[1], bytes = new long[1];
    if (data.order() == ByteOrder.nativeOrder()) return data;
    Raw.rudax_dtype_get(DType.check("dtype", dtype, false), bits, elements, bytes);
    if (elements[0] == 1 && bits[0] > 8)
      throw new IllegalArgumentException("data is in the order " + data.order() + ", elements of "
          + DType.name(dtype) + " are in the order " + ByteOrder.nativeOrder()
          + ": use Tensor.buffer(n) or data.order(ByteOrder.nativeOrder())");
    return data;
  }

  /** A tensor over a direct buffer in native byte order, which is kept while any tensor uses it. CPU contexts. */
  public static Tensor over(Context context, int dtype, ByteBuffer data, long... shape) {
    need("context", context);
    need("shape", shape);
    DType.check("dtype", dtype, false);
    ordered(dtype, data);
    Loans.collect();
    int flags = data.isReadOnly() ? TensorFlags.READ_ONLY | 3 : 3;
    long number = Loans.add(data);
    try {
      return context.use(p -> {
        long[] made = new long[1];
        Raw.rudax_tensor_wrap(p, dtype, shape, flags, data.slice(), number, made);
        return new Tensor(made[0]);
      });
    } catch (RuntimeException error) {
      Loans.remove(number);
      throw error;
    }
  }

  // dtype, flags, bytes, contiguous, rank, shape, strides
  private long[] facts() {
    needOpen();
    if (facts == null) {
      long[] made = new long[5 + 2 * MAX_RANK];
      with(p -> Raw.rudax_tensor_layout(p[0], made), this);
      facts = made;
    }
    return facts;
  }

  /** A constant of DType; DType.name gives its name. */
  public int dtype() {
    return (int) facts()[0];
  }

  public boolean isReadOnly() {
    return (facts()[1] & TensorFlags.READ_ONLY) != 0;
  }

  /** Bytes of a contiguous copy. */
  public long bytes() {
    return facts()[2];
  }

  public boolean isContiguous() {
    return facts()[3] != 0;
  }

  public int rank() {
    return (int) facts()[4];
  }

  public long[] shape() {
    return Arrays.copyOfRange(facts(), 5, 5 + rank());
  }

  /** In elements. */
  public long[] strides() {
    return Arrays.copyOfRange(facts(), 5 + MAX_RANK, 5 + MAX_RANK + rank());
  }

  public long count() {
    long count = 1;
    for (long extent : shape()) count *= extent;
    return count;
  }

  /** Tensors that share the storage. */
  public long storageUsers() {
    long[] users = new long[1];
    with(p -> Raw.ruda_tensor_storage_users(p[0], users), this);
    return users[0];
  }

  /** Copies exactly the tensor's bytes from the host. */
  public Tensor write(Stream stream, ByteBuffer data) {
    ordered(dtype(), data);
    try {
      with(p -> Raw.ruda_tensor_write(p[0], p[1], data.slice()), need("stream", stream), this);
    } catch (RudaException error) {
      throw sized(error, data, "");
    }
    return this;
  }

  // A refusal of the number of bytes in the words of the call.
  private RudaException sized(RudaException error, ByteBuffer data, String least) {
    if (!error.getMessage().startsWith("RUDA_E_SHAPE: bytes is ")) return error;
    return error.renamed(
        "data has " + counted(data.remaining(), "byte") + ", expected " + least + bytes() + " as the tensor");
  }

  /** Waits for the stream's work and copies the tensor, row-major, to the host. */
  public void read(Stream stream, ByteBuffer data) {
    ordered(dtype(), data);
    if (data.isReadOnly()) throw new IllegalArgumentException("data is read-only, expected a buffer that can be written");
    try {
      with(p -> Raw.ruda_tensor_read(p[0], p[1], data.slice()), need("stream", stream), this);
    } catch (RudaException error) {
      throw sized(error, data, "at least ");
    }
  }

  private ByteBuffer read(Stream stream) {
    if (bytes() > Integer.MAX_VALUE)
      throw new IllegalArgumentException("the tensor holds " + bytes() + " bytes, an array is read of at most "
          + Integer.MAX_VALUE + ": read a slice");
    ByteBuffer b = buffer(bytes());
    read(stream, b);
    return b;
  }

  /** The bytes of a tensor of any dtype. */
  public byte[] toBytes(Stream stream) {
    ByteBuffer data = read(stream);
    byte[] made = new byte[data.limit()];
    data.get(made);
    return made;
  }

  // An array of the host holds the elements of some dtypes only; nothing is converted on the way.
  private void match(String type, int... dtypes) {
    int have = dtype();
    for (int dtype : dtypes)
      if (dtype == have) return;
    String names = Arrays.stream(dtypes).mapToObj(DType::name).collect(Collectors.joining(", "));
    throw new IllegalArgumentException("an array of " + type + " holds " + names + ", expected " + DType.name(have)
        + " as the tensor: cast the tensor, or use bytes");
  }

  /** The elements of an F32 tensor. */
  public float[] toFloats(Stream stream) {
    match("float", DType.F32);
    ByteBuffer data = read(stream);
    float[] made = new float[data.limit() / 4];
    data.asFloatBuffer().get(made);
    return made;
  }

  /** The elements of an F64 tensor. */
  public double[] toDoubles(Stream stream) {
    match("double", DType.F64);
    ByteBuffer data = read(stream);
    double[] made = new double[data.limit() / 8];
    data.asDoubleBuffer().get(made);
    return made;
  }

  /** The elements of an I64 tensor, or the bits of a U64. */
  public long[] toLongs(Stream stream) {
    match("long", DType.I64, DType.U64);
    ByteBuffer data = read(stream);
    long[] made = new long[data.limit() / 8];
    data.asLongBuffer().get(made);
    return made;
  }

  /** The elements of an I16 tensor, or the bits of a U16, F16 or BF16. */
  public short[] toShorts(Stream stream) {
    match("short", DType.I16, DType.U16, DType.F16, DType.BF16);
    ByteBuffer data = read(stream);
    short[] made = new short[data.limit() / 2];
    data.asShortBuffer().get(made);
    return made;
  }

  /** The elements of an I32 tensor, or the bits of a U32. */
  public int[] toInts(Stream stream) {
    match("int", DType.I32, DType.U32);
    ByteBuffer data = read(stream);
    int[] made = new int[data.limit() / 4];
    data.asIntBuffer().get(made);
    return made;
  }

  /**
   * As fill with the double that equals value. For a dtype of integers there must be one; write sets others.
   */
  public Tensor fill(Stream stream, long value) {
    boolean held = (double) value < 0x1p63 && (long) (double) value == value;
    if (!held && (dtype() == DType.I64 || dtype() == DType.U64))
      throw new IllegalArgumentException("value is " + value + ", expected an integer that a double holds exactly");
    return fill(stream, (double) value);
  }

  /** Sets every element, converted to the dtype: rounded to nearest even, integers saturate. */
  public Tensor fill(Stream stream, double value) {
    with(p -> Raw.ruda_tensor_fill(p[0], p[1], value), need("stream", stream), this);
    return this;
  }

  /** A contiguous copy of another dtype. */
  public Tensor cast(Stream stream, int dtype) {
    return cast(stream, dtype, Overflow.DEFAULT);
  }

  /**
   * As cast; overflow, a constant of Overflow, says for F8E4M3 and F8E5M2 what becomes of numbers beyond the largest. By
   * default infinity, 448 in F8E4M3.
   */
  public Tensor cast(Stream stream, int dtype, int overflow) {
    long[] made = new long[1];
    with(p -> Raw.ruda_tensor_convert(p[0], p[1], DType.check("dtype", dtype, false), Overflow.check("overflow", overflow, true), made),
        need("stream", stream), this);
    return new Tensor(made[0]);
  }

  public Tensor contiguous(Stream stream) {
    long[] made = new long[1];
    with(p -> Raw.ruda_tensor_contiguous(p[0], p[1], made), need("stream", stream), this);
    return new Tensor(made[0]);
  }

  /** Copies into a tensor of the same shape; dtypes are converted. */
  public void copyTo(Stream stream, Tensor to) {
    with(p -> Raw.ruda_tensor_copy(p[0], p[1], p[2]), need("stream", stream), this, need("to", to));
  }

  /** The elements under another shape: a view where strides allow it, else a copy. One extent may be -1. */
  public Tensor reshape(Stream stream, long... shape) {
    long[] made = new long[1];
    with(p -> Raw.rudax_tensor_reshape(p[0], p[1], need("shape", shape), made), need("stream", stream), this);
    return new Tensor(made[0]);
  }

  /** As reshape, never a copy. */
  public Tensor view(long... shape) {
    long[] made = new long[1];
    with(p -> Raw.ruda_tensor_view(p[0], need("shape", shape), made), this);
    return new Tensor(made[0]);
  }

  public Tensor permute(long... axes) {
    long[] made = new long[1];
    with(p -> Raw.rudax_tensor_permute(p[0], need("axes", axes), made), this);
    return new Tensor(made[0]);
  }

  /** As slice with steps of 1. */
  public Tensor slice(long[] begin, long[] end) {
    return slice(begin, end, null);
  }

  /** begin[i], begin[i] + step[i], ... below end[i] on every axis; negative ones count from the end. */
  public Tensor slice(long[] begin, long[] end, long[] step) {
    int rank = need("begin", begin).length;
    if (need("end", end).length != rank || (step != null && step.length != rank))
      throw new IllegalArgumentException("begin has " + counted(rank, "number") + ", end " + end.length + " and step "
          + (step == null ? rank : step.length) + ", expected as many of each");
    long[] bounds = new long[3 * rank];
    for (int i = 0; i < rank; ++i) {
      bounds[i] = begin[i];
      bounds[rank + i] = end[i];
      bounds[2 * rank + i] = step == null ? 1 : step[i];
    }
    long[] made = new long[1];
    with(p -> Raw.rudax_tensor_slice(p[0], bounds, made), this);
    return new Tensor(made[0]);
  }

  public Tensor broadcast(long... shape) {
    long[] made = new long[1];
    with(p -> Raw.ruda_tensor_broadcast(p[0], need("shape", shape), made), this);
    return new Tensor(made[0]);
  }

  /** Orders later use on `stream` after the last writer on another stream. */
  public void fence(Stream stream) {
    with(p -> Raw.ruda_tensor_fence(p[0], p[1]), this, need("stream", stream));
  }

  @Override
  String describe() {
    return DType.name(dtype()) + " " + Arrays.toString(shape());
  }
}
