/* tests/model/template_steps.c - the limit on steps counts the bytes that a template touches. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include <ruda/model.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))
enum { max_steps = 50000, keys = 3000 };

static char source[1 << 16], variables[1 << 17];

/* s and t are long texts that differ at the end, l and m lists of such texts, d a dictionary with one as its
   key, p and q the same dictionary of many keys in two orders. */
static const char setup[] =
    "{% set s = 'a' * 999999 ~ 'a' %}{% set t = 'a' * 999999 ~ 'b' %}{% set n = '1' * 1000000 %}"
    "{% set l = [s] * 20 %}{% set m = [s] * 19 + [t] %}{% set d = {s: 1} %}{% set e = {'a': 1} %}"
    "{% set rows = [{'a': s}, {'a': t}] %}";

static const char* const works[] = {
    /* filters */
    "s | length",
    "s | count",
    "n | int",
    "n | int(0, 16)",
    "s | int",
    "n | float",
    "s | trim",
    "'a' | trim(s)",
    "s | upper",
    "s | lower",
    "s | capitalize",
    "s | title",
    "s | escape",
    "s | forceescape",
    "s | replace('b', 'c')",
    "'a' | replace(s, 'c')",
    "'a' | replace('c', s)",
    "'a' | replace(l, 'c')",
    "s | indent",
    "s | tojson",
    "s | center",
    "s | wordcount",
    "s | format",
    "s | first",
    "s | last",
    "s | list",
    "s | reverse",
    "s | join",
    "l | join",
    "s | batch(2)",
    "[s, t] | unique",
    "[s, t] | sort",
    "[s, t] | max",
    "[s, t] | min",
    "d | dictsort",
    "rows | sort(attribute='a')",
    "rows | groupby('a')",
    "rows | unique(attribute='a')",
    "l | string",
    "m | safe",
    "s | select",
    "([e] * 20) | map(attribute=s)",
    "e | attr(s)",
    "(['a'] * 20) | join(s)",
    "l | tojson(sort_keys=true)",
    /* tests */
    "s is upper",
    "s is lower",
    "l is upper",
    "s is eq(t)",
    "s is ne(t)",
    "s is lt(t)",
    "s is ge(t)",
    "s is in(t)",
    "s is sameas(t)",
    "t is in(l)",
    "t is in(d)",
    /* methods */
    "s.strip('a')",
    "s.lstrip(t)",
    "s.rstrip('ab')",
    "(' ' * 999999).strip()",
    "'a'.strip(s)",
    "s.split('b')",
    "s.split()",
    "s.split(none, 1)",
    "s.rsplit('b')",
    "s.rsplit()",
    "s.splitlines()",
    "s.startswith(t)",
    "s.endswith(t)",
    "s.startswith((t,) * 20)",
    "s.replace('b', 'c')",
    "s.upper()",
    "s.lower()",
    "s.casefold()",
    "s.title()",
    "s.capitalize()",
    "s.find('b')",
    "t.find('b')",
    "s.rfind('b')",
    "t.index('b')",
    "s.count('a')",
    "s.count('')",
    "s.count('b')",
    "'-'.join(l)",
    "s.isdigit()",
    "s.isalpha()",
    "s.isalnum()",
    "s.isspace()",
    "s.isupper()",
    "s.islower()",
    "n.isnumeric()",
    "n.isdecimal()",
    "s.removeprefix(t)",
    "s.removesuffix(t)",
    "s.partition('b')",
    "s.rpartition('b')",
    "s.ljust(1)",
    "s.rjust(1)",
    "s.center(1)",
    "s.zfill(1)",
    "s.format()",
    "d.get(t)",
    "m.index(t)",
    "l.count(t)",
    "loop.changed(s)",
    /* operators */
    "s == t",
    "s != t",
    "s < t",
    "s >= t",
    "l == m",
    "l < m",
    "d == {t: 1}",
    "p == q",
    "[p] == [q]",
    "p in [q]",
    "[q, p].index(p)",
    "[p, q] | unique",
    "'b' in s",
    "s in t",
    "t in l",
    "t in d",
    "t not in d",
    "d[t]",
    "{}[s]",
    "s[0]",
    "s[-1]",
    "s[1:]",
    "s[::-1]",
    "l[:] == m",
    "{s: 1, t: 2}",
    "s % ()",
    "('%s' * 2) % (s, t)",
    "s ~ t",
    "s + t",
    "s * 2",
    "l ~ 1",
};

static ruda_status render(const char* template_text, uint64_t steps) {
  ruda_chat_options options = RUDA_CHAT_OPTIONS_INIT;
  options.source = template_text;
  options.variables = variables;
  options.max_steps = steps;
  return ruda_chat_render(NULL, NULL, 0, &options, NULL, 0, NULL);
}

static void make_variables(void) {
  size_t size = 0;
  for (int order = 0; order < 2; ++order) {
    size += (size_t)sprintf(variables + size, order ? "},\"q\":{" : "{\"p\":{");
    for (int i = 0; i < keys; ++i)
      size += (size_t)sprintf(variables + size, "%s\"k%d\":0", i ? "," : "", order ? keys - 1 - i : i);
  }
  strcpy(variables + size, "}}");
}

/* Each would run for hours in a longer loop, if only its nodes counted. */
static void counts_what_is_touched(void** state) {
  (void)state;
  int failures = 0;
  make_variables();
  for (size_t i = 0; i < COUNT(works); ++i) {
    /* The same loop without the work is well below the limit. */
    const char *body = "{% for i in range(300) %}{% set x = (s, (", *const end = ")) %}{% endfor %}";
    snprintf(source, sizeof source, "%s%s%s%s", setup, body, "1, 2, 3, 4", end);
    assert_int_equal(render(source, max_steps), RUDA_OK);
    snprintf(source, sizeof source, "%s%s%s%s", setup, body, works[i], end);
    const ruda_status status = render(source, max_steps);
    if (status == RUDA_E_BUDGET) continue;
    ruda_error_info info = RUDA_ERROR_INFO_INIT;
    ruda_last_error(&info);
    print_error("%s: status %d %s\n", works[i], status, status ? info.message : "");
    ++failures;
  }
  assert_int_equal(failures, 0);
}

/* Each key of one dictionary is looked for among the keys of the other. */
static void counts_compared_keys(void** state) {
  (void)state;
  make_variables();
  assert_int_equal(render("{% for i in range(5) %}{% if p.k1 == q.k1 %}{% endif %}{% endfor %}", 100000),
                   RUDA_OK);
  assert_int_equal(render("{% for i in range(5) %}{% if p == q %}{% endif %}{% endfor %}", 100000),
                   RUDA_E_BUDGET);
}

/* Names are looked for one by one. */
static void counts_names(void** state) {
  (void)state;
  make_variables();
  size_t size = 0;
  for (int i = 0; i < 1500; ++i) size += (size_t)sprintf(source + size, "{%% set v%d = 1 %%}", i);
  sprintf(source + size, "{%% for i in range(1000) %%}{%% set x = y %%}{%% endfor %%}");
  assert_int_equal(render(source, 100000), RUDA_E_BUDGET);
  sprintf(source + size, "{%% for i in range(1000) %%}{%% set x = 1 %%}{%% endfor %%}");
  assert_int_equal(render(source, 100000), RUDA_OK);
}

/* Texts of JSON are bounded while they are made, not after. */
static void bounds_json(void** state) {
  (void)state;
  strcpy(variables, "{}");
  assert_int_equal(render("{% set ns = namespace(x=range(100000)) %}{% for i in range(100) %}"
                          "{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x | tojson(indent=100) | length }}",
                          0),
                   RUDA_E_BUDGET);
  ruda_error_info info = RUDA_ERROR_INFO_INIT;
  ruda_last_error(&info);
  assert_non_null(strstr(info.message, "bytes of JSON"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(counts_what_is_touched),
      cmocka_unit_test(counts_compared_keys),
      cmocka_unit_test(counts_names),
      cmocka_unit_test(bounds_json),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
