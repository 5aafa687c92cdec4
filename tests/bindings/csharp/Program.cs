// tests/bindings/csharp/Program.cs - runs a suite of the C# tests: core, arguments, lifetime, session MODEL, or vectors FOLDER.
// SPDX-License-Identifier: Apache-2.0
using System;
using System.Reflection;

static class Test {
  static int passed, failed;

  internal static void Check(bool good, string what) {
    if (good)
      ++passed;
    else {
      ++failed;
      Console.WriteLine("FAIL " + what);
    }
  }

  internal static void Equal<T>(T got, T want, string what) {
    Check(Equals(got, want), what + ": " + got + ", expected " + want);
  }

  /// <summary>The exception that `action` throws; null and a failure when it is not a T.</summary>
  internal static T Throws<T>(Action action, string what)
      where T : Exception {
    try {
      action();
    } catch (T error) {
      ++passed;
      return error;
    } catch (Exception error) {
      Check(false, what + " threw " + error);
      return null;
    }
    Check(false, what + " did not throw");
    return null;
  }

  static int Main(string[] arguments) {
    switch (arguments[0]) {
      case "vectors": return Vectors.Run(arguments);
      case "texts": return Texts.Run(arguments[1]);
      case "core": RunAll(typeof(CoreTests)); break;
      case "arguments":
        RunAll(typeof(ArgumentTests));
        RunAll(typeof(EnumerationTests));
        break;
      case "lifetime": RunAll(typeof(LifetimeTests)); break;
      case "session":
        SessionTests.ModelPath = arguments[1];
        RunAll(typeof(SessionTests));
        RunAll(typeof(ClosedTests));
        break;
      default: Console.WriteLine("no suite is called " + arguments[0]); return 2;
    }
    Console.WriteLine(passed + " passed, " + failed + " failed");
    return failed == 0 && passed > 0 ? 0 : 1;
  }

  static void RunAll(Type suite) {
    foreach (MethodInfo method in suite.GetMethods(BindingFlags.Static | BindingFlags.Public)) {
      try {
        method.Invoke(null, null);
      } catch (TargetInvocationException error) {
        Check(false, method.Name + " threw " + error.InnerException);
      }
    }
  }
}
