// bindings/java/src/main/java/io/ruda/Sampling.java - how a session chooses tokens.
// SPDX-License-Identifier: Apache-2.0
package io.ruda;

/** How a session chooses tokens; zero in any field means its default. */
public final class Sampling {
  /** 0 = the most likely token. */
  public double temperature;
  public double topP, minP, repetitionPenalty;
  public int topK;
  public long repetitionWindow, seed;
}
