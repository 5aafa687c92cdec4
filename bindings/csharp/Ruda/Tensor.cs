// bindings/csharp/Ruda/Tensor.cs - tensors: shape, views, copies to and from spans, borrowed arrays.
// SPDX-License-Identifier: Apache-2.0
using System;
using System.Runtime.InteropServices;
using Ruda.Interop;

namespace Ruda {
  /// <summary>Which types of the host hold the elements of a dtype.</summary>
  static class Elements {
    static string Names(Type type) {
      if (type.IsEnum) return "";
      switch (Type.GetTypeCode(type)) {
        case TypeCode.Boolean: return "Bool";
        case TypeCode.SByte: return "I8";
        case TypeCode.Int16: return "I16";
        case TypeCode.UInt16: return "U16 F16 BF16";
        case TypeCode.Int32: return "I32";
        case TypeCode.UInt32: return "U32";
        case TypeCode.Int64: return "I64";
        case TypeCode.UInt64: return "U64";
        case TypeCode.Single: return "F32";
        case TypeCode.Double: return "F64";
        default: return "";
      }
    }

    /// <summary>Bytes of an element of a type that Match or Of let pass.</summary>
    internal static int Size<T>()
        where T : struct {
      switch (Type.GetTypeCode(typeof(T))) {
        case TypeCode.Boolean:
        case TypeCode.SByte:
        case TypeCode.Byte: return 1;
        case TypeCode.Int16:
        case TypeCode.UInt16: return 2;
        case TypeCode.Int32:
        case TypeCode.UInt32:
        case TypeCode.Single: return 4;
        default: return 8;
      }
    }

    /// <summary>The dtype of an array of T.</summary>
    internal static DType Of<T>()
        where T : struct {
      if (typeof(T) == typeof(byte))
        return DType.U8;
      string names = Names(typeof(T));
      if (names == "")
        throw new ArgumentException("data is an array of " + typeof(T).Name + ", expected one of numbers or of bool",
                                    "data");
      return (DType)Enum.Parse(typeof(DType), names.Split(' ')[0]);
    }

    /// <summary>Refuses a type whose elements are of another dtype; bytes are taken as they are.</summary>
    internal static void Match<T>(DType dtype)
        where T : struct {
      if (typeof(T) == typeof(byte))
        return;
      string names = Names(typeof(T));
      if (names != "" && (" " + names + " ").Contains(" " + dtype + " "))
        return;
      throw new ArgumentException("an array of " + typeof(T).Name + " holds " +
                                  (names == "" ? "no dtype" : names.Replace(" ", ", ")) + ", expected " + dtype +
                                  " as the tensor: cast the tensor, or use bytes");
    }
  }

  /// <summary>Elements of one dtype with a shape and strides, in the memory of a context's device. A view
  /// shares storage with the tensor it was made from.</summary>
  public sealed class Tensor : NativeObject<TensorHandle> {
    const int MaxRank = 16;
    long[] facts;

    Tensor(TensorHandle handle) : base(handle) {
    }

    internal static Tensor Wrap(TensorHandle handle) {
      return handle.IsInvalid ? null : new Tensor(handle);
    }

    /// <summary>A tensor with undefined contents.</summary>
    public Tensor(Context context, Choice<DType> dtype, params long[] shape) : base(Make(context, dtype, shape)) {
    }

    static TensorHandle Make(Context context, Choice<DType> dtype, long[] shape) {
      TensorHandle made;
      Need.Given("shape", shape);
      RudaNative.rudax_tensor_create(Need.H("context", context), Need.One("dtype", dtype), shape, (uint)shape.Length, out made);
      return made;
    }

    /// <summary>A tensor with a copy of `data`, which is as many elements as the shape has, or their bytes; T as in
    /// Write.</summary>
    public static Tensor From<T>(Stream stream, Context context, Choice<DType> dtype, ReadOnlySpan<T> data,
                                 params long[] shape)
        where T : struct {
      Tensor made = new Tensor(context, dtype, shape);
      try {
        Elements.Match<T>(made.DType);
        long size = Elements.Size<T>(), expected = made.Bytes / size;
        if (data.Length != expected)
          throw new ArgumentException("data has " + Need.Counted(data.Length, made.Bytes == made.Count * size ? "element" : "byte") +
                                          ", expected " + expected + " as shape [" + string.Join(", ", shape) + "]",
                                      "data");
        made.Write(stream, data);
      } catch {
        made.Dispose();
        throw;
      }
      return made;
    }

    /// <summary>A tensor with a copy of `data`; T as in Write.</summary>
    public static Tensor From<T>(Stream stream, Context context, Choice<DType> dtype, T[] data, params long[] shape)
        where T : struct {
      return From<T>(stream, context, dtype, new ReadOnlySpan<T>(Need.Given("data", data)), shape);
    }

    /// <summary>A tensor with a copy of `data`, of the dtype of its elements: int[] gives I32, ushort[] U16, byte[] U8,
    /// bool[] Bool.</summary>
    public static Tensor From<T>(Stream stream, Context context, T[] data, params long[] shape)
        where T : struct {
      return From<T>(stream, context, Elements.Of<T>(), new ReadOnlySpan<T>(Need.Given("data", data)), shape);
    }

    /// <summary>An F32 tensor with a copy of `data`.</summary>
    public static Tensor From(Stream stream, Context context, float[] data, params long[] shape) {
      return From<float>(stream, context, DType.F32, data, shape);
    }

    /// <summary>A tensor over an array, which stays pinned while any tensor uses it. CPU contexts.</summary>
    public static Tensor Over<T>(Context context, Choice<DType> dtype, T[] data, params long[] shape)
        where T : struct {
      uint held = Need.One("dtype", dtype);
      Elements.Match<T>((DType)held);
      Need.H("context", context);
      Need.Given("data", data);
      Need.Given("shape", shape);
      Loans.Collect();
      GCHandle pinned = GCHandle.Alloc(data, GCHandleType.Pinned);
      long number = Loans.Add(pinned);
      try {
        TensorHandle made;
        RudaNative.rudax_tensor_wrap(Need.H("context", context), held, shape, (uint)shape.Length, 3,
                                     pinned.AddrOfPinnedObject(), (ulong)data.LongLength * (ulong)Elements.Size<T>(), number,
                                     out made);
        return new Tensor(made);
      } catch {
        Loans.Remove(number);
        throw;
      }
    }

    // dtype, flags, bytes, contiguous, rank, shape, strides
    long[] Facts {
      get {
        NeedOpen();
        if (facts == null) {
          long[] made = new long[5 + 2 * MaxRank];
          RudaNative.rudax_tensor_layout(H, made);
          facts = made;
        }
        return facts;
      }
    }

    public DType DType {
      get { return (DType)Facts[0]; }
    }
    public bool IsReadOnly {
      get { return (Facts[1] & 0x100) != 0; }
    }
    /// <summary>Bytes of a contiguous copy.</summary>
    public long Bytes {
      get { return Facts[2]; }
    }
    public bool IsContiguous {
      get { return Facts[3] != 0; }
    }
    public int Rank {
      get { return (int)Facts[4]; }
    }
    public long[] Shape {
      get { return Part(5); }
    }
    /// <summary>In elements.</summary>
    public long[] Strides {
      get { return Part(5 + MaxRank); }
    }
    public long Count {
      get {
        long count = 1;
        foreach (long extent in Shape) count *= extent;
        return count;
      }
    }

    long[] Part(int from) {
      long[] part = new long[Rank];
      Array.Copy(Facts, from, part, 0, part.Length);
      return part;
    }

    /// <summary>Tensors that share the storage.</summary>
    public long StorageUsers {
      get {
        ulong users;
        RudaNative.ruda_tensor_storage_users(H, out users);
        return (long)users;
      }
    }

    /// <summary>Copies exactly the tensor's bytes from the host. T is the type of the dtype, or byte; for floats that
    /// C# does not have an unsigned integer of their size.</summary>
    public unsafe void Write<T>(Stream stream, ReadOnlySpan<T> data)
        where T : struct {
      Elements.Match<T>(DType);
      long bytes = (long)data.Length * Elements.Size<T>();
      try {
        fixed(byte* p = MemoryMarshal.AsBytes(data.Slice(0, Math.Min(1, data.Length))))
            RudaNative.ruda_tensor_write(Need.H("stream", stream), H, (IntPtr)p, (ulong)bytes);
      } catch (RudaException error) when (IsOfSize(error)) {
        throw WrongSize(error, bytes, "");
      }
    }

    static bool IsOfSize(RudaException error) {
      return error.Message.StartsWith("RUDA_E_SHAPE: bytes is ", StringComparison.Ordinal);
    }

    RudaException WrongSize(RudaException error, long bytes, string least) {
      return error.Renamed("data has " + Need.Counted(bytes, "byte") + ", expected " + least + Bytes + " as the tensor");
    }

    /// <summary>Waits for the stream's work and copies the tensor, row-major, to the host; T as in Write.</summary>
    public unsafe void Read<T>(Stream stream, Span<T> data)
        where T : struct {
      Elements.Match<T>(DType);
      long bytes = (long)data.Length * Elements.Size<T>();
      try {
        fixed(byte* p = MemoryMarshal.AsBytes(data.Slice(0, Math.Min(1, data.Length))))
            RudaNative.ruda_tensor_read(Need.H("stream", stream), H, (IntPtr)p, (ulong)bytes);
      } catch (RudaException error) when (IsOfSize(error)) {
        throw WrongSize(error, bytes, "at least ");
      }
    }

    /// <summary>The elements, row-major; T as in Write. Nothing is converted: see Cast.</summary>
    public T[] ToArray<T>(Stream stream)
        where T : struct {
      Elements.Match<T>(DType);
      if (Bytes > int.MaxValue)
        throw new ArgumentException("the tensor holds " + Bytes + " bytes, an array is read of at most " + int.MaxValue +
                                    ": read a slice");
      T[] data = new T[Bytes / Elements.Size<T>()];
      Read<T>(stream, data);
      return data;
    }

    /// <summary>Sets every element, converted to the dtype: rounded to nearest even, integers saturate.</summary>
    public Tensor Fill(Stream stream, double value) {
      RudaNative.ruda_tensor_fill(Need.H("stream", stream), H, value);
      return this;
    }

    /// <summary>As Fill with the double that equals value. For a dtype of integers there must be one; Write sets
    /// others.</summary>
    public Tensor Fill(Stream stream, long value) {
      bool held = (double)value < 9223372036854775808.0 && (long)(double)value == value;
      if (!held && (DType == DType.I64 || DType == DType.U64))
        throw new ArgumentException("value is " + value + ", expected an integer that a double holds exactly", "value");
      return Fill(stream, (double)value);
    }

    /// <summary>A contiguous copy of another dtype.</summary>
    /// <param name="overflow">for F8E4M3 and F8E5M2: what becomes of numbers beyond the largest; by default infinity,
    /// 448 in F8E4M3</param>
    public Tensor Cast(Stream stream, Choice<DType> dtype, Choice<Overflow> overflow = default(Choice<Overflow>)) {
      TensorHandle made;
      RudaNative.ruda_tensor_convert(Need.H("stream", stream), H, Need.One("dtype", dtype), Need.One("overflow", overflow, true), out made);
      return new Tensor(made);
    }

    public Tensor Contiguous(Stream stream) {
      TensorHandle made;
      RudaNative.ruda_tensor_contiguous(Need.H("stream", stream), H, out made);
      return new Tensor(made);
    }

    /// <summary>Copies into a tensor of the same shape; dtypes are converted.</summary>
    public void CopyTo(Stream stream, Tensor to) {
      NeedOpen();
      RudaNative.ruda_tensor_copy(Need.H("stream", stream), H, Need.H("to", to));
    }

    /// <summary>The elements under another shape: a view where strides allow it, else a copy. One extent may
    /// be -1.</summary>
    public Tensor Reshape(Stream stream, params long[] shape) {
      TensorHandle made;
      Need.Given("shape", shape);
      RudaNative.rudax_tensor_reshape(Need.H("stream", stream), H, shape, (uint)shape.Length, out made);
      return new Tensor(made);
    }

    /// <summary>As Reshape, never a copy.</summary>
    public Tensor View(params long[] shape) {
      TensorHandle made;
      Need.Given("shape", shape);
      RudaNative.ruda_tensor_view(H, shape, (uint)shape.Length, out made);
      return new Tensor(made);
    }

    public Tensor Permute(params long[] axes) {
      TensorHandle made;
      Need.Given("axes", axes);
      RudaNative.rudax_tensor_permute(H, axes, (uint)axes.Length, out made);
      return new Tensor(made);
    }

    /// <summary>begin[i], begin[i] + step[i], ... below end[i] on every axis; negative ones count from the
    /// end.</summary>
    public Tensor Slice(long[] begin, long[] end, long[] step = null) {
      Need.Given("begin", begin);
      Need.Given("end", end);
      if (begin.Length != end.Length || (step != null && step.Length != begin.Length))
        throw new ArgumentException("begin has " + Need.Counted(begin.Length, "number") + ", end " + end.Length + " and step " +
                                    (step == null ? begin.Length : step.Length) + ", expected as many of each");
      int rank = begin.Length;
      long[] bounds = new long[3 * rank];
      for (int i = 0; i < rank; ++i) {
        bounds[i] = begin[i];
        bounds[rank + i] = end[i];
        bounds[2 * rank + i] = step == null ? 1 : step[i];
      }
      TensorHandle made;
      RudaNative.rudax_tensor_slice(H, bounds, (uint)bounds.Length, out made);
      return new Tensor(made);
    }

    public Tensor Broadcast(params long[] shape) {
      TensorHandle made;
      Need.Given("shape", shape);
      RudaNative.ruda_tensor_broadcast(H, shape, (uint)shape.Length, out made);
      return new Tensor(made);
    }

    /// <summary>Orders later use on `stream` after the last writer on another stream.</summary>
    public void Fence(Stream stream) {
      RudaNative.ruda_tensor_fence(H, Need.H("stream", stream));
    }

    internal override string Describe() {
      return DType + " [" + string.Join(", ", Shape) + "]";
    }
  }
}
