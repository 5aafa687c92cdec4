# bindings/java/pack.py - lists the Java sources; compiles them and packs classes and native files into a jar.
# SPDX-License-Identifier: Apache-2.0
"""usage: pack.py list SOURCES
pack.py jar JAVAC SOURCES GENERATED CLASSES JAR FILE...    FILE is a .java file or a native library
pack.py classes JAVAC CLASS_PATH CLASSES STAMP FILE...     programs that use the jar"""

import pathlib
import platform
import shutil
import subprocess
import sys
import zipfile


def sources(folder):
    return sorted(pathlib.Path(folder).rglob("*.java"))


def main():
    if sys.argv[1] == "list":
        print("\n".join(str(path) for path in sources(sys.argv[2])))
        return
    if sys.argv[1] == "classes":
        javac, class_path, classes, stamp = sys.argv[2:6]
        options = [
            "-Xlint:all",
            "-Werror",
            "--release",
            "17",
            "-encoding",
            "UTF-8",
            "-cp",
            class_path,
            "-d",
            classes,
        ]
        subprocess.run([javac, *options, *sys.argv[6:]], check=True)
        pathlib.Path(stamp).touch()
        return
    javac, hand_written, generated, classes, jar = sys.argv[2:7]
    files = [pathlib.Path(name) for name in sys.argv[7:]]
    shutil.rmtree(classes, ignore_errors=True)
    compiled = sources(hand_written) + sources(generated) + [f for f in files if f.suffix == ".java"]
    # With the names of parameters, which tools show.
    options = ["-parameters", "-Xlint:all,-serial", "-Werror", "--release", "17", "-encoding", "UTF-8", "-d", classes]
    subprocess.run([javac, *options, *map(str, compiled)], check=True)
    # Fixed times: the same input gives the same jar.
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as packed:

        def put(name, content):
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            packed.writestr(entry, content)

        put("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\r\nAutomatic-Module-Name: io.ruda\r\n\r\n")
        for path in sorted(pathlib.Path(classes).rglob("*.class")):
            put(path.relative_to(classes).as_posix(), path.read_bytes())
        for path in files:
            if path.suffix != ".java":
                put(f"META-INF/native/linux-{platform.machine()}/{path.name}", path.read_bytes())


if __name__ == "__main__":
    main()
