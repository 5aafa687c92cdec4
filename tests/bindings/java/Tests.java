// tests/bindings/java/Tests.java - runs a suite of the Java tests: core, arguments, lifetime, session MODEL, or vectors FOLDER.
// SPDX-License-Identifier: Apache-2.0
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Objects;

public final class Tests {
  private static int passed, failed;

  static synchronized void check(boolean good, String what) {
    if (good)
      ++passed;
    else {
      ++failed;
      System.out.println("FAIL " + what);
    }
  }

  static void equal(Object got, Object want, String what) {
    check(Objects.equals(got, want), what + ": " + got + ", expected " + want);
  }

  interface Action {
    void run() throws Exception;
  }

  /** The exception that `action` throws; null and a failure when it is not of the type. */
  static <T extends Throwable> T expectThrows(Class<T> type, Action action, String what) {
    try {
      action.run();
    } catch (Throwable error) {
      check(type.isInstance(error), what + " threw " + error);
      return type.isInstance(error) ? type.cast(error) : null;
    }
    check(false, what + " did not throw");
    return null;
  }

  public static void main(String[] arguments) throws Exception {
    switch (arguments[0]) {
      case "vectors" -> System.exit(Vectors.run(arguments));
      case "texts" -> {
        Texts.run(java.nio.file.Path.of(arguments[1]));
        return;
      }
      case "core" -> runAll(CoreTests.class);
      case "arguments" -> {
        runAll(ArgumentTests.class);
        runAll(EnumerationTests.class);
      }
      case "lifetime" -> runAll(LifetimeTests.class);
      case "session" -> {
        SessionTests.modelPath = java.nio.file.Path.of(arguments[1]);
        runAll(SessionTests.class);
        runAll(ClosedTests.class);
      }
      default -> throw new IllegalArgumentException("no suite is called " + arguments[0]);
    }
    System.out.println(passed + " passed, " + failed + " failed");
    // Not exit(0): a suite may leave objects behind, and the process must end by itself.
    if (failed > 0 || passed == 0) System.exit(1);
  }

  private static void runAll(Class<?> suite) throws Exception {
    Method[] methods = suite.getDeclaredMethods();
    Arrays.sort(methods, Comparator.comparing(Method::getName));
    for (Method method : methods) {
          if (!java.lang.reflect.Modifier.isPublic(method.getModifiers()) || method.isSynthetic()) continue;
          try {
            method.invoke(null);
          } catch (InvocationTargetException error) {
            error.getCause().printStackTrace(System.out);
            check(false, method.getName() + " threw");
          }
        }
    }
  }
