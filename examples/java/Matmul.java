// examples/java/Matmul.java - a product of two matrices, and a product that is refused.
// SPDX-License-Identifier: Apache-2.0
import io.ruda.Backend;
import io.ruda.Context;
import io.ruda.DType;
import io.ruda.Ops;
import io.ruda.RudaException;
import io.ruda.Stream;
import io.ruda.Tensor;

public final class Matmul {
  public static void main(String[] arguments) {
    try (Context context = new Context(Backend.CPU); Stream stream = new Stream(context);
         Tensor a = Tensor.from(stream, context, new float[] {1, 2, 3, 4}, 2, 2);
         Tensor b = Tensor.from(stream, context, new float[] {5, 6, 7, 8}, 2, 2)) {
      StringBuilder line = new StringBuilder();
      try (Tensor c = Ops.matmul(stream, a, b)) {
        for (float value : c.toFloats(stream)) line.append(line.length() > 0 ? " " : "").append(value);
      }
      System.out.println(line);
      try {
        Ops.matmul(stream, a, new Tensor(context, DType.F32, 3, 2)).close();
      } catch (RudaException error) {
        if (error.kind() != RudaException.Kind.ARGUMENT) throw error;
        System.out.println(error.getMessage());
      }
    }
  }
}
