// tests/bindings/csharp/Vectors.cs - runs the shared vectors through the plan of each operator.
// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Ruda;
using Map = System.Collections.Generic.Dictionary<string, object>;

static class Vectors {
  static readonly List<string> faults = new List<string>();

  internal static int Run(string[] arguments) {
    bool dump = arguments.Contains("--dump");
    int cases = 0;
    using (Context context = new Context(Backend.Cpu)) using (Ruda.Stream stream = new Ruda.Stream(context)) {
      foreach (string path in Directory.GetFiles(arguments[1], "*.json")
                   .OrderBy(p => p, StringComparer.Ordinal)) {
        Map file = (Map)Json.Parse(File.ReadAllText(path));
        foreach (Map one in (List<object>)file["cases"]) {
          ++cases;
          RunCase(context, stream, (string)file["op"], one, dump);
        }
      }
    }
    foreach (string fault in faults) Console.Error.WriteLine(fault);
    Console.Error.WriteLine(cases + " cases, " + faults.Count + " faults");
    return faults.Count == 0 && cases > 0 ? 0 : 1;
  }

  static long[] Shape(Map operand) {
    return ((List<object>)operand["shape"]).Select(Convert.ToInt64).ToArray();
  }

  static DType TypeOf(Map operand) {
    return (DType)Enum.Parse(typeof(DType), (string)operand["dtype"], true);
  }

  static double[] Data(Map operand) {
    return ((List<object>)operand["data"]).Select(Convert.ToDouble).ToArray();
  }

  static Tensor Make(Context context, Ruda.Stream stream, Map operand) {
    using (Tensor wide = Tensor.From<double>(stream, context, DType.F64, Data(operand),
                                             Shape(operand))) return wide.Cast(stream, TypeOf(operand));
  }

  static void RunCase(Context context, Ruda.Stream stream, string op, Map one, bool dump) {
    string label = op + " " + one["name"];
    PlanBuilder builder = new PlanBuilder(op);
    Map operands = new Map();
    foreach (KeyValuePair<string, object> input in (Map)one["inputs"]) {
      Tensor made = Make(context, stream, (Map)input.Value);
      operands.Add(input.Key, made);
      builder.Set(input.Key, made);
    }
    foreach (KeyValuePair<string, object> parameter in (Map)one["parameters"]) {
      if (parameter.Value is bool)
        builder.Set(parameter.Key, (bool?)parameter.Value);
      else if (parameter.Value is long)
        builder.Set(parameter.Key, (long?)parameter.Value);
      else
        builder.Set(parameter.Key, (double?)parameter.Value);
    }
    if (one.ContainsKey("fails")) {
      Map fails = (Map)one["fails"];
      try {
        builder.Create(context);
        faults.Add(label + ": nothing failed, expected " + fails["status"]);
      } catch (RudaException error) {
        if (error.Name != (string)fails["status"] || !error.Message.Contains((string)fails["text"]))
          faults.Add(label + ": " + error.Message + ", expected " + fails["status"] + " " + fails["text"]);
      }
      return;
    }
    Map outputs = (Map)one["outputs"];
    foreach (KeyValuePair<string, object> output in outputs) {
      Map operand = (Map)output.Value;
      builder.Set(output.Key, new Operand(TypeOf(operand), Shape(operand)));
      operands.Add(output.Key, new Tensor(context, TypeOf(operand), Shape(operand)));
    }
    using (Plan plan = builder.Create(context)) plan.Execute(stream, operands);
    foreach (KeyValuePair<string, object> output in outputs) {
      Tensor got = (Tensor)operands[output.Key];
      Check(label + " " + output.Key, got, stream, (Map)output.Value);
      if (dump) {
        string hex = BitConverter.ToString(got.ToArray<byte>(stream)).Replace("-", "").ToLowerInvariant();
        Console.WriteLine(op + "|" + one["name"] + "|" + output.Key + "|" + hex);
      }
    }
  }

  static void Check(string label, Tensor got, Ruda.Stream stream, Map operand) {
    double[] values, want = Data(operand);
    using (Tensor wide = got.Cast(stream, DType.F64)) values = wide.ToArray<double>(stream);
    double absolute = Convert.ToDouble(operand["absolute"]), relative = Convert.ToDouble(operand["relative"]);
    for (int i = 0; i < want.Length; ++i)
      if (!(Math.Abs(values[i] - want[i]) <= absolute + relative * Math.Abs(want[i])))
        faults.Add(label + "[" + i + "]: " + values[i] + ", expected " + want[i]);
  }
}
