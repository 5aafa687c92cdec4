// tests/bindings/java/Json.java - reads JSON into maps, lists, strings, Longs, Doubles and Booleans.
// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

final class Json {
  private final String text;
  private int at;

  private Json(String text) {
    this.text = text;
  }

  static Object parse(String text) {
    Json reader = new Json(text);
    Object value = reader.value();
    reader.blank();
    if (reader.at != text.length()) throw new IllegalArgumentException("text after the end at " + reader.at);
    return value;
  }

  private void blank() {
    while (at < text.length() && Character.isWhitespace(text.charAt(at))) ++at;
  }

  private boolean take(char c) {
    blank();
    if (at >= text.length() || text.charAt(at) != c) return false;
    ++at;
    return true;
  }

  private void need(char c) {
    if (!take(c)) throw new IllegalArgumentException("expected " + c + " at " + at);
  }

  private Object value() {
    blank();
    switch (text.charAt(at)) {
      case '{': return object();
      case '[': return array();
      case '"': return string();
      case 't': at += 4; return true;
      case 'f': at += 5; return false;
      case 'n': at += 4; return null;
      default: return number();
    }
  }

  private Map<String, Object> object() {
    Map<String, Object> made = new LinkedHashMap<>();
    need('{');
    if (take('}')) return made;
    do {
      blank();
      String key = string();
      need(':');
      made.put(key, value());
    } while (take(','));
    need('}');
    return made;
  }

  private List<Object> array() {
    List<Object> made = new ArrayList<>();
    need('[');
    if (take(']')) return made;
    do made.add(value());
    while (take(','));
    need(']');
    return made;
  }

  private String string() {
    StringBuilder made = new StringBuilder();
    for (++at; text.charAt(at) != '"'; ++at) {
      char c = text.charAt(at);
      if (c != '\\') {
        made.append(c);
        continue;
      }
      c = text.charAt(++at);
      switch (c) {
        case 'n': made.append('\n'); break;
        case 't': made.append('\t'); break;
        case 'u':
          made.append((char) Integer.parseInt(text.substring(at + 1, at + 5), 16));
          at += 4;
          break;
        default: made.append(c);
      }
    }
    ++at;
    return made.toString();
  }

  private Object number() {
    int from = at;
    while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0) ++at;
    String number = text.substring(from, at);
    return number.matches(".*[.eE].*") ? (Object) Double.valueOf(number) : (Object) Long.valueOf(number);
  }
}
