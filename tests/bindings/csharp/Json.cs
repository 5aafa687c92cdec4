// tests/bindings/csharp/Json.cs - reads JSON into dictionaries, lists, strings, longs, doubles and bools.
// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Text;

sealed class Json {
  readonly string text;
  int at;

  Json(string text) {
    this.text = text;
  }

  internal static object Parse(string text) {
    Json reader = new Json(text);
    object value = reader.Value();
    reader.Blank();
    if (reader.at != text.Length)
      throw new FormatException("text after the end at " + reader.at);
    return value;
  }

  void Blank() {
    while (at < text.Length && char.IsWhiteSpace(text[at])) ++at;
  }

  bool Take(char c) {
    Blank();
    if (at >= text.Length || text[at] != c)
      return false;
    ++at;
    return true;
  }

  void Need(char c) {
    if (!Take(c))
      throw new FormatException("expected " + c + " at " + at);
  }

  object Value() {
    Blank();
    switch (text[at]) {
      case '{': return Object();
      case '[': return Array();
      case '"': return String();
      case 't': at += 4; return true;
      case 'f': at += 5; return false;
      case 'n': at += 4; return null;
      default: return Number();
    }
  }

  Dictionary<string, object> Object() {
    Dictionary<string, object> made = new Dictionary<string, object>();
    Need('{');
    if (Take('}'))
      return made;
    do {
      Blank();
      string key = String();
      Need(':');
      made.Add(key, Value());
    } while (Take(','));
    Need('}');
    return made;
  }

  List<object> Array() {
    List<object> made = new List<object>();
    Need('[');
    if (Take(']'))
      return made;
    do made.Add(Value());
    while (Take(','));
    Need(']');
    return made;
  }

  string String() {
    StringBuilder made = new StringBuilder();
    for (++at; text[at] != '"'; ++at) {
      if (text[at] != '\\') {
        made.Append(text[at]);
        continue;
      }
      switch (text[++at]) {
        case 'n': made.Append('\n'); break;
        case 't': made.Append('\t'); break;
        case 'u':
          made.Append((char)int.Parse(text.Substring(at + 1, 4), NumberStyles.HexNumber));
          at += 4;
          break;
        default: made.Append(text[at]); break;
      }
    }
    ++at;
    return made.ToString();
  }

  object Number() {
    int from = at;
    while (at < text.Length && "+-.eE0123456789".IndexOf(text[at]) >= 0) ++at;
    string number = text.Substring(from, at - from);
    if (number.IndexOfAny(new[] { '.', 'e', 'E' }) < 0)
      return long.Parse(number, CultureInfo.InvariantCulture);
    return double.Parse(number, CultureInfo.InvariantCulture);
  }
}
