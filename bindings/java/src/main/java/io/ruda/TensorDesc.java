// bindings/java/src/main/java/io/ruda/TensorDesc.java - an operand that is not there yet.
// SPDX-License-Identifier: Apache-2.0
package io.ruda;

/** dtype and shape of an operand that is not there yet; strides may be given in elements. */
public final class TensorDesc {
  final int dtype;
  final long[] shape, strides;

  public TensorDesc(int dtype, long... shape) {
    this(dtype, shape, null);
  }

  public TensorDesc(int dtype, long[] shape, long[] strides) {
    this.dtype = DType.check("dtype", dtype, false);
    this.shape = NativeHandle.need("shape", shape).clone();
    this.strides = strides == null ? null : strides.clone();
    if (strides != null && strides.length != shape.length)
      throw new IllegalArgumentException(
          "strides has " + NativeHandle.counted(strides.length, "number") + ", expected " + shape.length + " as shape");
  }
}
