// bindings/csharp/Ruda/Plan.cs - plans: an operator prepared for fixed layouts, run into given tensors.
// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Text;
using System.Text.RegularExpressions;
using Ruda.Interop;

namespace Ruda {
  /// <summary>dtype, shape and strides of an operand: of a tensor, or of one that is not there yet.</summary>
  public sealed class Operand {
    internal readonly Tensor Tensor;
    internal readonly DType DType;
    internal readonly long[] Shape, Strides;

    public Operand(Choice<DType> dtype, long[] shape, long[] strides = null) {
      DType = (DType)Need.One("dtype", dtype);
      Shape = Need.Given("shape", shape);
      Strides = strides;
      if (strides != null && strides.Length != shape.Length)
        throw new ArgumentException("strides has " + Need.Counted(strides.Length, "number") + ", expected " + shape.Length + " as shape",
                                    "strides");
    }

    Operand(Tensor tensor) {
      Tensor = tensor;
    }

    public static implicit operator Operand(Tensor tensor) {
      return tensor == null ? null : new Operand(tensor);
    }
  }

  /// <summary>How a plan is chosen; what is null keeps its default.</summary>
  public sealed class PlanOptions {
    public string Kernel;
    public Choice<Strategy>? Strategy;
    public Choice<MathMode>? Math;
    public Choice<Determinism>? Determinism;
    public ulong? WorkspaceLimitBytes;
    public bool? Autotune;
  }

  /// <summary>Fills the descriptor of an operator by the names of its fields; a bit mask of axes ends in _mask, as
  /// "axes_mask". A value that is null keeps its default. A name that the operator does not have, or a value of another
  /// kind, is refused by Create. A parameter that takes an enumeration takes its name as a text too, as "add".</summary>
  public sealed class PlanBuilder {
    readonly string op;
    readonly StringBuilder names = new StringBuilder();
    readonly List<long> values = new List<long>();
    readonly List<NativeObject> used = new List<NativeObject>();
    readonly List<Patch> patches = new List<Patch>();

    public PlanBuilder(string op) {
      this.op = Need.Text("op", Need.Given("op", op));
    }

    PlanBuilder Add(string name, char tag, params long[] numbers) {
      if (Need.Given("name", name) == "" || name.IndexOfAny(new[] { ' ', '\0' }) >= 0)
        throw new ArgumentException("name is " + Need.Quoted(name) + ", expected the name of a parameter", "name");
      Need.Whole("name", name);
      if (names.Length > 0)
        names.Append(' ');
      names.Append(name);
      values.Add(tag);
      values.AddRange(numbers);
      return this;
    }

    PlanBuilder AddObject(string name, char tag, NativeObject value) {
      Add(name, tag, 0);
      patches.Add(new Patch(values.Count - 1, name, value));
      return this;
    }

    public PlanBuilder Set(string name, Operand value) {
      if (value == null)
        return this;
      if (value.Tensor != null)
        return AddObject(name, 'T', value.Tensor);
      Add(name, 't', (long)value.DType, 0, value.Shape.Length, value.Strides == null ? 0 : 1);
      values.AddRange(value.Shape);
      if (value.Strides != null)
        values.AddRange(value.Strides);
      return this;
    }

    public PlanBuilder Set(string name, Tensor value) {
      return Set(name, (Operand)value);
    }

    public PlanBuilder Set(string name, NativeObject value) {
      return value == null ? this : AddObject(name, 'h', value);
    }

    public PlanBuilder Set(string name, long? value) {
      return value == null ? this : Add(name, 'i', value.Value);
    }

    /// <summary>Fields that are unsigned and 64 bits wide hold every ulong.</summary>
    public PlanBuilder Set(string name, ulong? value) {
      return value == null ? this : Add(name, 'u', unchecked((long)value.Value));
    }

    /// <summary>A value of an enumeration, such as Binary.Add.</summary>
    public PlanBuilder Set(string name, Enum value) {
      if (value == null) return this;
      return value.GetTypeCode() == TypeCode.UInt64 ? Set(name, Convert.ToUInt64(value)) : Set(name, Convert.ToInt64(value));
    }

    internal PlanBuilder Set<T>(string name, Choice<T> value)
        where T : struct {
      return value.IsGiven ? Set(name, (long)value.Number(name, true)) : this;
    }

    internal PlanBuilder Set(string name, Flag? value) {
      return value == null ? this : Add(name, 'i', value.Value.Value);
    }

    public PlanBuilder Set(string name, bool? value) {
      return value == null ? this : Add(name, 'b', value.Value ? 1 : 0);
    }

    public PlanBuilder Set(string name, double? value) {
      return value == null ? this : Add(name, 'f', BitConverter.DoubleToInt64Bits(value.Value));
    }

    public PlanBuilder Set(string name, long[] value) {
      if (value == null)
        return this;
      Add(name, 'a', value.Length);
      values.AddRange(value);
      return this;
    }

    public PlanBuilder Set(string name, double[] value) {
      if (value == null)
        return this;
      Add(name, 'g', value.Length);
      foreach (double number in value) values.Add(BitConverter.DoubleToInt64Bits(number));
      return this;
    }

    public PlanBuilder Set(string name, string value) {
      if (value == null)
        return this;
      Need.Given("name", name);
      byte[] raw = Need.Bytes(name.Substring(name.LastIndexOf('.') + 1), value);
      Add(name, 's', raw.Length);
      foreach (byte b in raw) values.Add(b);
      return this;
    }

    static long? Number<T>(string name, Choice<T>? value)
        where T : struct {
      return value.HasValue && value.Value.IsGiven ? value.Value.Number(name, true) : (long?)null;
    }

    public PlanBuilder Options(PlanOptions o) {
      if (o == null)
        return this;
      return Set("options.kernel", o.Kernel)
          .Set("options.strategy", Number("strategy", o.Strategy))
          .Set("options.math", Number("math", o.Math))
          .Set("options.determinism", Number("determinism", o.Determinism))
          .Set("options.workspace_limit_bytes", o.WorkspaceLimitBytes)
          .Set("options.autotune", o.Autotune);
    }

    public Plan Create(Context context) {
      long[] numbers = values.ToArray();
      PlanHandle made = null;
      Hold.During(patches, numbers, () => {
        RudaNative.rudax_plan_create(Need.H("context", context), op, names.ToString(), numbers, (uint)numbers.Length,
                                     out made);
      });
      return new Plan(made);
    }
  }

  /// <summary>A handle that travels as the number `At` of a call, by the name of its parameter.</summary>
  struct Patch {
    internal readonly int At;
    internal readonly string Name;
    internal readonly RudaHandle Handle;

    internal Patch(int at, string name, NativeObject value) {
      At = at;
      Name = name;
      Handle = value.Handle;
    }
  }

  /// <summary>Keeps handles that travel as numbers alive during a call.</summary>
  static class Hold {
    internal static void During(List<Patch> patches, long[] numbers, Action call) {
      int held = 0;
      try {
        foreach (Patch patch in patches) {
          bool taken = false;
          patch.Handle.Hold(patch.Name, ref taken);
          ++held;
          numbers[patch.At] = patch.Handle.Number;
        }
        call();
      } finally {
        for (int i = 0; i < held; ++i) patches[i].Handle.DangerousRelease();
      }
    }
  }

  /// <summary>An operator prepared for fixed layouts.</summary>
  public sealed class Plan : NativeObject<PlanHandle> {
    readonly Dictionary<string, uint> slots = new Dictionary<string, uint>();
    readonly HashSet<string> outputs = new HashSet<string>();

    internal Plan(PlanHandle handle) : base(handle) {
      for (uint slot = 0; slot < (uint)Get(0); ++slot) {
        uint isOutput = 0;
        string name = ReadText(text => {
          ulong needed;
          RudaNative.rudax_plan_slot(H, slot, text, (ulong)text.Length, out needed, out isOutput);
          return needed;
        });
        slots.Add(name, slot);
        if (isOutput != 0)
          outputs.Add(name);
      }
    }

    ulong Get(uint what) {
      ulong value;
      RudaNative.rudax_plan_get(H, what, out value);
      return value;
    }

    string Text(uint what) {
      return ReadText(text => {
        ulong needed;
        RudaNative.rudax_plan_text(H, what, text, (ulong)text.Length, out needed);
        return needed;
      });
    }

    internal override string Describe() {
      return Op + " by " + Kernel;
    }

    /// <summary>The operators of the library.</summary>
    public static IList<string> OpNames() {
      List<string> names = new List<string>();
      for (uint i = 0; i < RudaNative.ruda_op_count(); ++i)
        names.Add(ReadText(text => {
          ulong needed;
          RudaNative.rudax_op_name(i, text, (ulong)text.Length, out needed);
          return needed;
        }));
      return names;
    }

    /// <summary>The kernels of an operator on a backend, by default the CPU, best first.</summary>
    public static string[] OpKernels(string op, Choice<Backend> backend = default(Choice<Backend>)) {
      Need.Text("op", Need.Given("op", op));
      uint number = backend.IsGiven ? Need.One("backend", backend) : (uint)Backend.Cpu;
      return ReadText(text => {
        ulong needed;
        RudaNative.ruda_op_kernels(op, number, text, (ulong)text.Length, out needed);
        return needed;
      }).Split(new[] { '\n' }, StringSplitOptions.RemoveEmptyEntries);
    }

    /// <summary>The names of the operands.</summary>
    public ICollection<string> Slots {
      get {
        NeedOpen();
        return slots.Keys;
      }
    }
    public bool IsOutput(string slot) {
      NeedOpen();
      return outputs.Contains(slot);
    }
    public string Op {
      get { return Text(0); }
    }
    public string Kernel {
      get { return Text(1); }
    }
    public long WorkspaceBytes {
      get { return (long)Get(1); }
    }
    public bool Capturable {
      get { return Get(3) != 0; }
    }
    public bool Deterministic {
      get { return Get(4) != 0; }
    }

    /// <summary>Which kernel was chosen and why each better one declined.</summary>
    public string Explain() {
      return ReadText(text => {
        ulong needed;
        RudaNative.ruda_plan_explain(H, text, (ulong)text.Length, out needed);
        return needed;
      }, 1024);
    }

    public void Warm(Stream stream) {
      RudaNative.ruda_plan_warm(H, Need.H("stream", stream));
    }

    static long Integer(string name, object value) {
      TypeCode code = Type.GetTypeCode(value.GetType());  // of an enumeration that of its numbers; of a pointer Object
      if (code == TypeCode.UInt64 && Convert.ToUInt64(value) > long.MaxValue)
        throw new ArgumentException(name + " is " + Convert.ToUInt64(value) + ", expected a double or an integer up to " +
                                    long.MaxValue, name);
      if (code == TypeCode.Boolean || (code >= TypeCode.SByte && code <= TypeCode.UInt64)) return Convert.ToInt64(value);
      throw WrongKind(name, value, "a tensor, another object of the library or a number");
    }

    static ArgumentException WrongKind(string name, object value, string expected) {
      string type = value.GetType().Name;
      string article = "AEIO".IndexOf(type[0]) >= 0 ? "an " : "a ";
      string shape = value is Tensor ? " of shape [" + string.Join(", ", ((Tensor)value).Shape) + "]" : "";
      return new ArgumentException(name + " is " + article + type + shape + ", expected " + expected, name);
    }

    // What the library says of an operand that is bound by another kind.
    static readonly Regex bindError = new Regex(@"bindings\[\d+\] \((\w+)\): kind is .*, expected RUDA_BIND_\w+ \((\d)\)");

    static string Expected(string name, BindKind kind) {
      if (kind == BindKind.Tensor) return "a tensor";
      if (kind != BindKind.Handle) return "a number";
      return name == "schedule" ? "a PagedSchedule" : "another object of the library";
    }

    /// <summary>Runs the plan. Values are tensors, other objects of the library, integers and doubles, by the
    /// names of the operands; null is an operand that is left out. An integer that is given for a double is converted
    /// where it is exact.</summary>
    public void Execute(Stream stream, IDictionary<string, object> operands, Workspace workspace = null,
                        CancelToken cancel = null, ulong timeoutNs = 0) {
      List<long> values = new List<long>();
      List<Patch> patches = new List<Patch>();
      NeedOpen();
      foreach (KeyValuePair<string, object> operand in Need.Given("operands", operands)) {
        uint slot;
        if (!slots.TryGetValue(operand.Key, out slot))
          throw new ArgumentException(Op + " has no operand " + Need.Quoted(operand.Key) + ": it has " +
                                      string.Join(", ", slots.Keys));
        if (operand.Value == null)
          continue;
        values.Add(slot);
        NativeObject thing = operand.Value as NativeObject;
        if (thing != null) {
          values.Add((long)(thing is Tensor ? BindKind.Tensor : BindKind.Handle));
          patches.Add(new Patch(values.Count, operand.Key, thing));
          values.Add(0);
        } else if (operand.Value is double || operand.Value is float) {
          values.Add((long)BindKind.F64);
          values.Add(BitConverter.DoubleToInt64Bits(Convert.ToDouble(operand.Value)));
        } else {
          values.Add((long)BindKind.I64);
          values.Add(Integer(operand.Key, operand.Value));
        }
      }
      long[] numbers = values.ToArray();
      try {
        Hold.During(patches, numbers, () => {
          RudaNative.rudax_plan_execute(H, Need.H("stream", stream), Need.Free("workspace", workspace, WorkspaceHandle.Null), numbers,
                                        (uint)numbers.Length, Need.Free("cancel", cancel, CancelHandle.Null), timeoutNs);
        });
      } catch (RudaException error) {
        Match wrong = bindError.Match(error.Message);
        if (!wrong.Success) throw;
        string name = wrong.Groups[1].Value;
        throw WrongKind(name, operands[name], Expected(name, (BindKind)int.Parse(wrong.Groups[2].Value)));
      }
    }
  }
}
