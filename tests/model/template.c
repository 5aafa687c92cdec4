/* tests/model/template.c - chat templates: golden texts, errors with lines, limits, buffers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include <ruda/model.h>

#include "../data/vectors/expression.h"
#include "../data/vectors/statement.h"
#include "../data/vectors/template.h"
#include "../store/builder.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

static char text[1 << 16];

static ruda_status render(const char* source, const char* messages, const char* variables) {
  ruda_chat_options options = RUDA_CHAT_OPTIONS_INIT;
  options.flags = RUDA_CHAT_NO_GENERATION_PROMPT;
  options.source = source;
  options.variables = variables;
  options.now = golden_now;
  uint64_t needed = 0;
  const ruda_status status =
      ruda_chat_render_json(NULL, messages ? messages : "[]", &options, text, sizeof text, &needed);
  if (status == RUDA_OK) assert_int_equal(needed, strlen(text) + 1);
  return status;
}

static const char* message(void) {
  ruda_error_info info = RUDA_ERROR_INFO_INIT;
  assert_int_equal(ruda_last_error(&info), RUDA_OK);
  return info.message;
}

static int failures;
static void compare(const char* source, ruda_status status, const char* expected) {
  const int same = expected ? status == RUDA_OK && strcmp(text, expected) == 0 : status != RUDA_OK;
  if (same) return;
  print_error("source \"%s\"\n  status %d %s\n  text \"%s\"\n  expected \"%s\"\n", source, status,
              status ? message() : "", status ? "" : text, expected ? expected : "(an error)");
  ++failures;
}

static void renders_golden_templates(void** state) {
  (void)state;
  failures = 0;
  for (size_t i = 0; i < COUNT(golden_templates); ++i) {
    const char* source = golden_sources[golden_templates[i].source];
    compare(source,
            render(source, golden_messages[golden_templates[i].messages],
                   golden_variables[golden_templates[i].variables]),
            golden_templates[i].text);
  }
  assert_int_equal(failures, 0);
}

static void renders_golden_expressions(void** state) {
  (void)state;
  failures = 0;
  for (size_t i = 0; i < COUNT(golden_expressions); ++i)
    compare(golden_expressions[i].source, render(golden_expressions[i].source, NULL, golden_context),
            golden_expressions[i].text);
  for (size_t i = 0; i < COUNT(golden_statements); ++i)
    compare(golden_statements[i].source, render(golden_statements[i].source, NULL, golden_context),
            golden_statements[i].text);
  assert_int_equal(failures, 0);
}

static void expect_refused(const char* source, ruda_status status, const char* part) {
  const ruda_status found = render(source, NULL, NULL);
  if (found != status || !strstr(message(), part)) print_error("%s: %d \"%s\"\n", source, found, message());
  assert_int_equal(found, status);
  assert_non_null(strstr(message(), part));
}

static void names_the_line(void** state) {
  (void)state;
  expect_refused("a\nb\n{{ missing.x }}", RUDA_E_FORMAT, "template line 3: \"missing\" is undefined");
  expect_refused("\n{% for i in 5 %}{% endfor %}", RUDA_E_FORMAT, "template line 2: a value of type int");
  expect_refused("{{ 1 +\n 'a' }}", RUDA_E_FORMAT, "template line 1: operator '+' does not take int and str");
  expect_refused("x\n{% if %}", RUDA_E_FORMAT,
                 "template line 2: expected an expression, found the end of the tag");
  expect_refused("\n\n{% nosuch %}", RUDA_E_FORMAT, "template line 3: unknown tag \"nosuch\"");
  expect_refused("{% if 1 %}\n\n", RUDA_E_FORMAT, "template line 1: the template ends before 'endif'");
  expect_refused("{% include 'x' %}", RUDA_E_UNSUPPORTED, "the tag 'include' is not supported");
  expect_refused("{{ 1 | nosuch }}", RUDA_E_FORMAT, "no filter is called \"nosuch\"");
  expect_refused("{{ 1 is nosuch }}", RUDA_E_FORMAT, "no test is called \"nosuch\"");
  expect_refused("\n{{ raise_exception('Only\nusers, please') }}", RUDA_E_ARGUMENT,
                 "line 2: Only users, please");
  expect_refused("{{ raise_exception('%s%n%d') }}", RUDA_E_ARGUMENT, "%s%n%d");
  expect_refused("{{ [1].append(2) }}", RUDA_E_FORMAT, "list.append would change its object");
  expect_refused("{{ 9223372036854775807 + 1 }}", RUDA_E_FORMAT, "does not fit 64 bits");
  expect_refused("{{ 99999999999999999999 }}", RUDA_E_FORMAT, "does not fit 64 bits");
}

/* Where Python has longer integers or complex numbers, an error and not another number. */
static void refuses_other_numbers(void** state) {
  (void)state;
  static const char* const wide[] = {
      "'9223372036854775808' | int", "'-9223372036854775809' | int",     "1e300 | int",
      "9223372036854775807.0 | int", "'9300000000000000000.0' | int",    "-1e19 | int",
      "('1' * 310) | int",           "'0x8000000000000000' | int(0, 0)", "('f' * 5000) | int(0, 16)",
  };
  char source[128];
  for (size_t i = 0; i < COUNT(wide); ++i) {
    snprintf(source, sizeof source, "\n{{ %s }}", wide[i]);
    expect_refused(source, RUDA_E_FORMAT, "template line 2: an integer does not fit 64 bits");
  }
  expect_refused("{{ 0 ** -1 }}", RUDA_E_FORMAT, "line 1: zero cannot be raised to a negative power");
  expect_refused("{{ (-8) ** 0.5 }}", RUDA_E_FORMAT, "line 1: a negative number to a fractional power");
  expect_refused("{{ 10.0 ** 400 }}", RUDA_E_FORMAT, "line 1: the result of '**' is too large");
}

static void shows_years_that_python_has(void** state) {
  (void)state;
  static const struct {
    int64_t now;
    ruda_status status;
  } cases[] = {
      {INT64_MAX, RUDA_E_FORMAT},
      {INT64_MIN, RUDA_E_FORMAT},
      {253402300800 + 86400, RUDA_E_FORMAT},
      {253402300800 - 86400, RUDA_OK},
      {67768036191676800, RUDA_E_FORMAT},
      {-62135596800 + 86400, RUDA_OK},
      {-62135596800 - 86400, RUDA_E_FORMAT},
  };
  ruda_chat_options options = RUDA_CHAT_OPTIONS_INIT;
  options.source = "\n{{ strftime_now('%d') }}";
  for (size_t i = 0; i < COUNT(cases); ++i) {
    options.now = cases[i].now;
    const ruda_status status = ruda_chat_render(NULL, NULL, 0, &options, text, sizeof text, NULL);
    assert_int_equal(status, cases[i].status);
    if (status) assert_non_null(strstr(message(), "template line 2: strftime_now: the time"));
  }
}

/* Work, memory, output and depth are bounded, whatever the template asks for. */
static void keeps_limits(void** state) {
  (void)state;
  expect_refused("{% for i in range(10 ** 9) %}{% endfor %}", RUDA_E_BUDGET, "range has 1000000000 elements");
  expect_refused("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
                 RUDA_E_BUDGET, "more than");
  expect_refused("{{ 'x' * 10 ** 12 }}", RUDA_E_BUDGET, "bytes of values");
  expect_refused("{{ [1] * 10 ** 12 }}", RUDA_E_BUDGET, "steps");
  expect_refused("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", RUDA_E_BUDGET, "nested deeper");
  expect_refused(
      "{% set ns = namespace(x='ab') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
      RUDA_E_BUDGET, "bytes of values");
  expect_refused("{% set ns = namespace(x=[]) %}{% for i in range(999) %}{% set ns.x = [ns.x] %}{% endfor %}",
                 RUDA_E_BUDGET, "nested 129 deep");
  /* Shared parts: a value of 2^99 leaves must not be walked. */
  expect_refused(
      "{% set ns = namespace(x=[1], y=[1]) %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}"
      "{% set ns.y = [ns.y, ns.y] %}{% endfor %}{{ ns.x == ns.y }}",
      RUDA_E_BUDGET, "more than 4000000 parts");
  expect_refused("{{ ([('a' * 1000000)] * 1000000) | join }}", RUDA_E_BUDGET, "parts");
  expect_refused("{{ 'ab' | replace('', 'x' * 1000000) | replace('x', 'y' * 1000000) }}", RUDA_E_BUDGET,
                 "bytes");

  static char nested[100001];
  memset(nested, '(', 50000);
  memset(nested + 50000, ')', 49998);
  memcpy(nested, "{{", 2);
  memcpy(nested + 99998, "}}", 2);
  expect_refused(nested, RUDA_E_BUDGET, "nested deeper");
  for (int i = 0; i < 50000; ++i) memcpy(nested + i * 2, i % 2 ? "1+" : "1+", 2);
  memcpy(nested, "{{", 2);
  memcpy(nested + 99996, "1}}", 4);
  expect_refused(nested, RUDA_E_BUDGET, "an expression is deeper");
  for (int i = 0; i < 9000; ++i) memcpy(nested + i * 10, "{%if 1 %}\n", 10);
  nested[90000] = 0;
  expect_refused(nested, RUDA_E_BUDGET, "nested deeper");
  memset(nested, '-', 99999);
  memcpy(nested, "{{ ", 3);
  memcpy(nested + 99996, "1}}", 4);
  expect_refused(nested, RUDA_E_BUDGET, "nested deeper");
  for (int i = 0; i < 12499; ++i) memcpy(nested + i * 8, "not not ", 8);
  memcpy(nested, "{{  ", 4);
  memcpy(nested + 99992, "1}}", 4);
  expect_refused(nested, RUDA_E_BUDGET, "nested deeper");

  ruda_chat_options options = RUDA_CHAT_OPTIONS_INIT;
  options.source = "{{ 'x' * 100 }}";
  options.max_bytes = 99;
  uint64_t needed;
  assert_int_equal(ruda_chat_render(NULL, NULL, 0, &options, text, sizeof text, &needed), RUDA_E_BUDGET);
  options.max_bytes = 100;
  assert_int_equal(ruda_chat_render(NULL, NULL, 0, &options, text, sizeof text, &needed), RUDA_OK);
  assert_int_equal(needed, 101);
  options.max_steps = 1;
  assert_int_equal(ruda_chat_render(NULL, NULL, 0, &options, text, sizeof text, &needed), RUDA_E_BUDGET);
}

/* JSON pasted into a template: null is no word of the language, but it comes out as it was. */
static void writes_pasted_json(void** state) {
  (void)state;
  assert_int_equal(render("{{ {\"a\":\"<\xC3\xA9>\",\"b\":[1,2.0,true,null]} | tojson }}", NULL, NULL),
                   RUDA_OK);
  assert_string_equal(text, "{\"a\": \"<\xC3\xA9>\", \"b\": [1, 2.0, true, null]}");
  expect_refused("{{ [nil] | tojson }}", RUDA_E_FORMAT, "is not JSON");
  expect_refused("{{ null.x }}", RUDA_E_FORMAT, "\"null\" is undefined");
}

static void refuses_json(void** state) {
  (void)state;
  static const struct {
    const char *messages, *part;
  } cases[] = {
      {"", "byte 0: expected a value"},
      {"{}", "messages is not a JSON array"},
      {"[1,]", "expected a value"},
      {"[1 2]", "expected ',' or ']'"},
      {"[01]", "begins with 0"},
      {"[1.]", "digits are missing"},
      {"[1e]", "digits are missing"},
      {"[1e999]", "out of range"},
      {"[99999999999999999999]", "does not fit 64 bits"},
      {"[+1]", "expected a value"},
      {"[NaN]", "expected a value"},
      {"[tru]", "expected a value"},
      {"[\"\\ud800\"]", "surrogate"},
      {"[\"\\udc00\"]", "surrogate"},
      {"[\"\\q\"]", "escape"},
      {"[\"a\nb\"]", "control character"},
      {"[\"\xff\"]", "not UTF-8"},
      {"[\"a", "not closed"},
      {"[{\"a\":1,\"a\":2}]", "key \"a\" stands twice"},
      {"[{a:1}]", "expected a string"},
      {"[{\"a\" 1}]", "expected ':'"},
      {"[] x", "text follows"},
  };
  for (size_t i = 0; i < COUNT(cases); ++i) {
    assert_int_equal(render("{{ messages }}", cases[i].messages, NULL), RUDA_E_FORMAT);
    if (!strstr(message(), cases[i].part)) print_error("%s: \"%s\"\n", cases[i].messages, message());
    assert_non_null(strstr(message(), cases[i].part));
  }
  char deep[4096];
  memset(deep, '[', sizeof deep - 1);
  deep[sizeof deep - 1] = 0;
  assert_int_equal(render("x", deep, NULL), RUDA_E_FORMAT);
  assert_non_null(strstr(message(), "nested too deep"));
  assert_int_equal(render("{{ x }}", NULL, "[]"), RUDA_E_FORMAT);
  assert_int_equal(render("{{ x.y[1] }}{{ x.z }}", NULL,
                          "{\"x\": {\"y\": [1, \"\\u00e9\\ud83d\\ude00\"], \"z\": -1.5e2}}"),
                   RUDA_OK);
  assert_string_equal(text, "\xC3\xA9\xF0\x9F\x98\x80-150.0");
}

static void free_data(void* user, void* data) {
  (void)user;
  free(data);
}

static ruda_tokenizer make_tokenizer(int with_template) {
  builder b = {0};
  put_header(&b, 3, 0, with_template ? 8 : 6);
  put_key_text(&b, "tokenizer.ggml.model", "gpt2");
  put_key_text(&b, "tokenizer.ggml.pre", "gpt-2");
  put_text(&b, "tokenizer.ggml.tokens");
  put_u32(&b, 9);
  put_u32(&b, 8);
  put_u64(&b, 2);
  put_text(&b, "<s>");
  put_text(&b, "</s>");
  put_text(&b, "tokenizer.ggml.merges");
  put_u32(&b, 9);
  put_u32(&b, 8);
  put_u64(&b, 0);
  put_key_u32(&b, "tokenizer.ggml.bos_token_id", 0);
  put_key_u32(&b, "tokenizer.ggml.eos_token_id", 1);
  if (with_template) {
    put_key_text(
        &b, "tokenizer.chat_template",
        "{{ bos_token }}{% for m in messages %}[{{ m.role }}] {{ m.content }}{{ eos_token }}{% endfor %}"
        "{% if add_generation_prompt %}>{% endif %}{{ tools }}");
    put_key_text(&b, "tokenizer.chat_template.tool_use", "T{{ messages | length }}{{ tools | tojson }}");
  }
  ruda_store store;
  ruda_tokenizer tokenizer;
  assert_int_equal(ruda_store_open_memory(b.data, b.size, NULL, free_data, NULL, &store), RUDA_OK);
  assert_int_equal(ruda_tokenizer_from_store(store, NULL, &tokenizer), RUDA_OK);
  ruda_release(store);
  return tokenizer;
}

static void uses_the_file(void** state) {
  (void)state;
  ruda_tokenizer tokenizer = make_tokenizer(1);
  const ruda_chat_message messages[] = {{"user", "hi\0x", 4}, {"assistant", "a\xFF", 0}, {"user", NULL, 0}};
  uint64_t needed;
  assert_int_equal(ruda_chat_render(tokenizer, messages, 3, NULL, text, sizeof text, &needed), RUDA_OK);
  static const char expected[] = "<s>[user] hi\0x</s>[assistant] a\xEF\xBF\xBD</s>[user] </s>>None";
  assert_int_equal(needed, sizeof expected);
  assert_memory_equal(text, expected, sizeof expected);
  ruda_chat_options options = RUDA_CHAT_OPTIONS_INIT;
  options.name = "tool_use";
  options.variables = "{\"tools\": [1]}";
  assert_int_equal(ruda_chat_render(tokenizer, messages, 1, &options, text, sizeof text, &needed), RUDA_OK);
  assert_string_equal(text, "T1[1]");
  options.name = "nosuch";
  assert_int_equal(ruda_chat_render(tokenizer, messages, 1, &options, text, sizeof text, &needed),
                   RUDA_E_NOT_FOUND);

  memset(text, 'x', 16);
  options.name = "tool_use";
  assert_int_equal(ruda_chat_render(tokenizer, messages, 1, &options, text, 5, &needed), RUDA_E_BUDGET);
  assert_int_equal(needed, 6);
  for (int i = 0; i < 16; ++i) assert_int_equal(text[i], 'x');
  assert_int_equal(ruda_chat_render(tokenizer, messages, 1, &options, NULL, 0, &needed), RUDA_OK);
  assert_int_equal(needed, 6);
  assert_int_equal(ruda_chat_render(tokenizer, messages, 1, &options, text, 6, &needed), RUDA_OK);
  assert_int_equal(text[6], 'x');

  options.flags = 64;
  assert_int_equal(ruda_chat_render(tokenizer, messages, 1, &options, text, 6, &needed), RUDA_E_ARGUMENT);
  assert_int_equal(ruda_chat_render(tokenizer, NULL, 1, NULL, text, 6, &needed), RUDA_E_NULL);
  const ruda_chat_message no_role = {NULL, "x", 0};
  assert_int_equal(ruda_chat_render(tokenizer, &no_role, 1, NULL, text, 6, &needed), RUDA_E_NULL);
  assert_int_equal(ruda_chat_render(NULL, messages, 1, NULL, text, 6, &needed), RUDA_E_NULL);
  assert_int_equal(ruda_chat_render(tokenizer, messages, 1, NULL, NULL, 6, &needed), RUDA_E_NULL);
  ruda_release(tokenizer);
  tokenizer = make_tokenizer(0);
  assert_int_equal(ruda_chat_render(tokenizer, messages, 1, NULL, text, sizeof text, &needed),
                   RUDA_E_NOT_FOUND);
  ruda_release(tokenizer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(renders_golden_templates),
      cmocka_unit_test(renders_golden_expressions),
      cmocka_unit_test(names_the_line),
      cmocka_unit_test(refuses_other_numbers),
      cmocka_unit_test(shows_years_that_python_has),
      cmocka_unit_test(keeps_limits),
      cmocka_unit_test(writes_pasted_json),
      cmocka_unit_test(refuses_json),
      cmocka_unit_test(uses_the_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
