// bindings/java/src/main/java/io/ruda/RudaException.java - a failed call as an exception.
// SPDX-License-Identifier: Apache-2.0
package io.ruda;

import java.nio.charset.StandardCharsets;

/** A failed call. status / 1000 is the category of the error; kind() names it. */
public final class RudaException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** Categories of errors. */
  public enum Kind {
    UNKNOWN,
    ARGUMENT,
    UNSUPPORTED,
    RESOURCE,
    DEVICE,
    FILE,
    COMMUNICATION,
    CANCELLED,
    CALLBACK,
    INTERNAL
  }

  private final int status, argument, nativeCode;
  private final String name, function, nativeLibrary;

  private RudaException(int status, int argument, int nativeCode, String message, String function,
      String library, String name) {
    super(name + ": " + message);
    this.status = status;
    this.argument = argument;
    this.nativeCode = nativeCode;
    this.name = name;
    this.function = function;
    this.nativeLibrary = library;
  }

  // Called by the native code.
  static RudaException make(int status, int argument, int nativeCode, byte[] message, byte[] function,
      byte[] library, byte[] name) {
    return new RudaException(
        status, argument, nativeCode, text(message), text(function), text(library), text(name));
  }

  /** The same error in the words of the call that was made. */
  RudaException renamed(String message) {
    return new RudaException(status, argument, nativeCode, message, function, nativeLibrary, name);
  }

  /** An answer that is read on after another call changed its session. */
  static RudaException ended() {
    return new RudaException(Status.E_STATE, -1, 0,
        "session: this answer ended when a later call changed the session, expected one answer read at a time", "", "",
        "RUDA_E_STATE");
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  /** A constant of Status. */
  public int status() {
    return status;
  }

  /** Position of the C argument at fault, from 0; -1 = none. */
  public int argument() {
    return argument;
  }

  /** errno, or the code of a vendor library. */
  public int nativeCode() {
    return nativeCode;
  }

  /** Such as RUDA_E_SHAPE. */
  public String name() {
    return name;
  }

  public String function() {
    return function;
  }

  public String nativeLibrary() {
    return nativeLibrary;
  }

  public Kind kind() {
    int category = status / 1000;
    return category >= 1 && category <= 9 ? Kind.values()[category] : Kind.UNKNOWN;
  }
}
