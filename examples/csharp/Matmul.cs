// examples/csharp/Matmul.cs - a product of two matrices, and a product that is refused.
// SPDX-License-Identifier: Apache-2.0
using System;
using System.Globalization;
using System.Linq;
using Ruda;

static class Matmul {
  static void Main() {
    using (Context context = new Context(Backend.Cpu))
    using (Stream stream = new Stream(context))
    using (Tensor a = Tensor.From(stream, context, new float[] { 1, 2, 3, 4 }, 2, 2))
    using (Tensor b = Tensor.From(stream, context, new float[] { 5, 6, 7, 8 }, 2, 2)) {
      using (Tensor c = Ops.Matmul(stream, a, b)) {
        float[] values = c.ToArray<float>(stream);
        Console.WriteLine(string.Join(" ", values.Select(v => v.ToString("0.0", CultureInfo.InvariantCulture))));
      }
      try {
        Ops.Matmul(stream, a, new Tensor(context, DType.F32, 3, 2)).Dispose();
      } catch (RudaException error) when (error.Kind == ErrorKind.Argument) {
        Console.WriteLine(error.Message);
      }
    }
  }
}
