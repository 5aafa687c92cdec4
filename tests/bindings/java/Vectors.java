// tests/bindings/java/Vectors.java - runs the shared vectors through the plan of each operator.
// SPDX-License-Identifier: Apache-2.0
import io.ruda.Backend;
import io.ruda.Context;
import io.ruda.DType;
import io.ruda.Plan;
import io.ruda.PlanBuilder;
import io.ruda.RudaException;
import io.ruda.Stream;
import io.ruda.Tensor;
import io.ruda.TensorDesc;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

final class Vectors {
  private static final List<String> faults = new ArrayList<>();

  private Vectors() {}

  @SuppressWarnings("unchecked")
  private static Map<String, Object> map(Object value) {
    return (Map<String, Object>) value;
  }

  static int run(String[] arguments) throws Exception {
    boolean dump = Arrays.asList(arguments).contains("--dump");
    int cases = 0;
    List<Path> files;
    try (var all = Files.list(Path.of(arguments[1]))) {
      files = all.filter(p -> p.toString().endsWith(".json")).sorted().toList();
    }
    try (Context context = new Context(Backend.CPU); Stream stream = new Stream(context)) {
      for (Path path : files) {
        Map<String, Object> file = map(Json.parse(Files.readString(path)));
        for (Object one : (List<?>) file.get("cases")) {
          ++cases;
          runCase(context, stream, (String) file.get("op"), map(one), dump);
        }
      }
    }
    faults.forEach(System.err::println);
    System.err.println(cases + " cases, " + faults.size() + " faults");
    return faults.isEmpty() && cases > 0 ? 0 : 1;
  }

  private static double[] data(Map<String, Object> operand) {
    return ((List<?>) operand.get("data")).stream().mapToDouble(v -> ((Number) v).doubleValue()).toArray();
  }

  private static long[] shape(Map<String, Object> operand) {
    return ((List<?>) operand.get("shape")).stream().mapToLong(v -> ((Number) v).longValue()).toArray();
  }

  private static int dtype(Map<String, Object> operand) throws ReflectiveOperationException {
    return DType.class.getField((String) operand.get("dtype")).getInt(null);
  }

  private static Tensor make(Context context, Stream stream, Map<String, Object> operand) throws Exception {
    try (Tensor wide = Tensor.from(stream, context, data(operand), shape(operand))) {
      return wide.cast(stream, dtype(operand));
    }
  }

  private static void runCase(
      Context context, Stream stream, String op, Map<String, Object> one, boolean dump) throws Exception {
    String label = op + " " + one.get("name");
    PlanBuilder builder = new PlanBuilder(op);
    Map<String, Tensor> operands = new HashMap<>();
    for (var input : map(one.get("inputs")).entrySet()) {
      Tensor made = make(context, stream, map(input.getValue()));
      operands.put(input.getKey(), made);
      builder.set(input.getKey(), made);
    }
    for (var parameter : map(one.get("parameters")).entrySet()) {
      Object value = parameter.getValue();
      if (value instanceof Boolean)
        builder.set(parameter.getKey(), (boolean) value);
      else if (value instanceof Long)
        builder.set(parameter.getKey(), (long) value);
      else
        builder.set(parameter.getKey(), (double) value);
    }
    if (one.containsKey("fails")) {
      Map<String, Object> fails = map(one.get("fails"));
      try {
        builder.create(context);
        faults.add(label + ": nothing failed, expected " + fails);
      } catch (RudaException error) {
        if (!error.name().equals(fails.get("status"))
            || !error.getMessage().contains((String) fails.get("text")))
          faults.add(label + ": " + error.getMessage() + ", expected " + fails);
      }
      return;
    }
    Map<String, Object> outputs = map(one.get("outputs"));
    for (var output : outputs.entrySet()) {
      Map<String, Object> operand = map(output.getValue());
      builder.set(output.getKey(), new TensorDesc(dtype(operand), shape(operand)));
      operands.put(output.getKey(), new Tensor(context, dtype(operand), shape(operand)));
    }
    try (Plan plan = builder.create(context)) {
      plan.execute(stream, operands);
    }
    for (var output : outputs.entrySet()) {
      Tensor got = operands.get(output.getKey());
      check(label + " " + output.getKey(), got, stream, map(output.getValue()));
      if (dump) {
        String hex = HexFormat.of().formatHex(got.toBytes(stream));
        System.out.println(op + "|" + one.get("name") + "|" + output.getKey() + "|" + hex);
      }
    }
  }

  private static void check(String label, Tensor got, Stream stream, Map<String, Object> operand) {
    double[] want = data(operand), values;
    try (Tensor wide = got.cast(stream, DType.F64)) {
      values = wide.toDoubles(stream);
    }
    double absolute = ((Number) operand.get("absolute")).doubleValue();
    double relative = ((Number) operand.get("relative")).doubleValue();
    for (int i = 0; i < want.length; ++i)
      if (!(Math.abs(values[i] - want[i]) <= absolute + relative * Math.abs(want[i])))
        faults.add(label + "[" + i + "]: " + values[i] + ", expected " + want[i]);
  }
}
