// bindings/java/src/main/java/io/ruda/internal/NativeLoader.java - finds and loads libruda and its JNI
// wrapper.
// SPDX-License-Identifier: Apache-2.0
package io.ruda.internal;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/**
 * Loads libruda.so.1, then librudajni.so, which needs it. Places, first found: the folder in the property
 * ruda.native.path; else the files in META-INF/native/linux-x86_64 of the class path, which are copied into
 * one folder named by their content below ruda.native.cache, XDG_CACHE_HOME or the user's .cache, and used
 * again by later processes. The environment variable RUDA_LIBRARY names another libruda.
 */
final class NativeLoader {
  private static final String[] NAMES = {"libruda.so.1", "librudajni.so"};
  private static final String FOLDER = "/META-INF/native/linux-" + machine() + "/";
  private static boolean loaded;

  private NativeLoader() {}

  private static String machine() {
    String arch = System.getProperty("os.arch");
    return arch.equals("amd64") ? "x86_64" : arch;
  }

  static synchronized void load() {
    if (loaded) return;
    String given = System.getProperty("ruda.native.path");
    Path folder = given != null ? Path.of(given) : extract();
    String other = System.getenv("RUDA_LIBRARY");
    loadFile(other != null && !other.isEmpty() ? Path.of(other) : folder.resolve(NAMES[0]));
    loadFile(folder.resolve(NAMES[1]));
    loaded = true;
  }

  private static void loadFile(Path file) {
    try {
      System.load(file.toAbsolutePath().toString());
    } catch (UnsatisfiedLinkError error) {
      String text = String.valueOf(error.getMessage());
      if (text.contains("already loaded in another classloader"))
        throw new UnsatisfiedLinkError(text
            + "; one class loader of a process may hold ruda: put its jar where all users share a loader");
      throw error;
    }
  }

  private static Path extract() {
    try {
      byte[][] contents = new byte[NAMES.length][];
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      for (int i = 0; i < NAMES.length; ++i) {
        try (InputStream in = NativeLoader.class.getResourceAsStream(FOLDER + NAMES[i])) {
          if (in == null)
            throw new UnsatisfiedLinkError(
                FOLDER + NAMES[i] + " is not on the class path and ruda.native.path is not set");
          contents[i] = in.readAllBytes();
        }
        digest.update(contents[i]);
      }
      StringBuilder name = new StringBuilder();
      for (byte b : digest.digest()) name.append(String.format("%02x", b));
      Path folder = cache().resolve("ruda-" + name.substring(0, 24));
      Files.createDirectories(folder);
      for (int i = 0; i < NAMES.length; ++i) put(folder, NAMES[i], contents[i]);
      return folder;
    } catch (IOException | NoSuchAlgorithmException error) {
      throw(UnsatisfiedLinkError) new UnsatisfiedLinkError("the native files cannot be copied: " + error)
          .initCause(error);
    }
  }

  // Written beside and renamed, so that another process sees a whole file or none.
  private static void put(Path folder, String name, byte[] content) throws IOException {
    Path file = folder.resolve(name);
    if (Files.isRegularFile(file) && Files.size(file) == content.length) return;
    Path fresh = Files.createTempFile(folder, name, ".new");
    Files.write(fresh, content);
    fresh.toFile().setReadable(true, false);
    fresh.toFile().setExecutable(true, false);
    try {
      Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE);
    } catch (AtomicMoveNotSupportedException error) {
      Files.move(fresh, file, StandardCopyOption.REPLACE_EXISTING);
    }
  }

  private static Path cache() {
    String given = System.getProperty("ruda.native.cache");
    if (given != null) return Path.of(given);
    String user = System.getenv("XDG_CACHE_HOME");
    return user != null && !user.isEmpty() ? Path.of(user)
                                           : Path.of(System.getProperty("user.home"), ".cache");
  }
}
