/* bindings/common/descriptor.h - fills the descriptor of any operator from named values, by tables. */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A language sends the names of the fields in one text, separated by spaces, and one array of numbers. Each
 * value begins with a tag:
 *   n                                       nothing: the field keeps its default
 *   i number                                integer
 *   b number                                0 or 1 as a bool: no value of an enumeration
 *   u bits                                  unsigned integer: from 2^63 on for fields of 64 bits
 *   f bits                                  double
 *   h handle                                any handle
 *   T tensor                                a tensor as an operand
 *   t dtype flags rank strided shape.. [strides..]   an operand without a tensor
 *   a count number..                        array of integers
 *   g count bits..                          array of doubles
 *   s count byte..                          text; of an enumeration one of its names
 */
#ifndef RUDA_BINDINGS_DESCRIPTOR_H
#define RUDA_BINDINGS_DESCRIPTOR_H

typedef enum {
  RUDAX_TENSOR,
  RUDAX_HANDLE,
  RUDAX_TEXT,
  RUDAX_U32,
  RUDAX_I32,
  RUDAX_U64,
  RUDAX_I64,
  RUDAX_BOOL,
  RUDAX_F32,
  RUDAX_F64,
  RUDAX_U32_ARRAY,
  RUDAX_I32_ARRAY,
  RUDAX_U64_ARRAY,
  RUDAX_I64_ARRAY,
  RUDAX_BOOL_ARRAY,
  RUDAX_F32_ARRAY,
  RUDAX_F64_ARRAY
} rudax_kind;

/* A descriptor and the structs that it points to: part 0 is the descriptor, part 1 ruda_plan_options. */
enum { rudax_most_operands = 32, rudax_most_parts = 4, rudax_part_bytes = 1024 };

/* The values of a field that takes an enumeration. */
typedef struct {
  const char *enumeration, *names; /* the names in order, "add, sub" */
  const uint32_t* numbers;
  uint32_t count;
  int is_open; /* other numbers are taken too */
} rudax_choices;

typedef struct {
  const char* name;
  uint32_t part, offset;
  rudax_kind kind;
  uint32_t count_offset, count_bytes; /* where the length of an array goes; count_bytes 0 = no array */
  const rudax_choices* choices;
  int unset; /* whether 0 stands for the default */
} rudax_field;

typedef struct {
  uint32_t bytes, pointer_offset; /* where the descriptor points to the part */
} rudax_part;

typedef struct {
  const char* name;
  uint32_t part_count, field_count;
  rudax_part parts[rudax_most_parts];
  const rudax_field* fields;
  ruda_status (*create)(ruda_context context, const void* desc, ruda_plan* out);
} rudax_op;

#include "ops.h" /* made by generate.py: rudax_ops, rudax_op_total, rudax_option_fields, rudax_option_total */

typedef union {
  uint64_t align;
  char bytes[rudax_part_bytes];
} rudax_room;

typedef struct {
  const char* op;
  const int64_t* values;
  uint32_t left;
  uint32_t operands;
  ruda_tensor_desc operand[rudax_most_operands];
  char* arena; /* room for converted arrays and texts: eight bytes a number sent is enough */
  size_t arena_used;
} rudax_reader;

static ruda_status rudax_store_integer(const rudax_reader* r, const rudax_field* field, int64_t value,
                                       void* at) {
  int64_t low = 0, high = INT64_MAX;
  switch (field->kind) {
    case RUDAX_U32:
    case RUDAX_U32_ARRAY: high = UINT32_MAX; break;
    case RUDAX_I32:
    case RUDAX_I32_ARRAY:
      low = INT32_MIN;
      high = INT32_MAX;
      break;
    case RUDAX_I64:
    case RUDAX_I64_ARRAY: low = INT64_MIN; break;
    case RUDAX_BOOL:
    case RUDAX_BOOL_ARRAY: high = 1; break;
    default: break;
  }
  if (value < low || value > high)
    return rudax_fail(RUDA_E_ARGUMENT, "%s: %s is %lld, expected %lld to %lld", r->op, field->name,
                      (long long)value, (long long)low, (long long)high);
  switch (field->kind) {
    case RUDAX_U32:
    case RUDAX_U32_ARRAY:
    case RUDAX_BOOL:
    case RUDAX_BOOL_ARRAY: {
      const uint32_t v = (uint32_t)value;
      memcpy(at, &v, sizeof v);
      return RUDA_OK;
    }
    case RUDAX_I32:
    case RUDAX_I32_ARRAY: {
      const int32_t v = (int32_t)value;
      memcpy(at, &v, sizeof v);
      return RUDA_OK;
    }
    default: memcpy(at, &value, sizeof value); return RUDA_OK;
  }
}

/* An integer that is none of the values is refused with all of them. */
static ruda_status rudax_check_choice(const rudax_reader* r, const rudax_field* field, int64_t tag,
                                      int64_t value) {
  const rudax_choices* c = field->choices;
  if ((!value && field->unset) || (c->is_open && value >= 0 && value <= UINT32_MAX)) return RUDA_OK;
  for (uint32_t i = 0; i < c->count; ++i)
    if (c->numbers[i] == value) return RUDA_OK;
  return tag == 'u' ? rudax_fail(RUDA_E_ARGUMENT, "%s: %s is %llu, expected one of %s: %s", r->op,
                                 field->name, (unsigned long long)value, c->enumeration, c->names)
                    : rudax_fail(RUDA_E_ARGUMENT, "%s: %s is %lld, expected one of %s: %s", r->op,
                                 field->name, (long long)value, c->enumeration, c->names);
}

/* Unsigned: what no signed number holds is for fields that hold all of them. */
static ruda_status rudax_store_unsigned(const rudax_reader* r, const rudax_field* field, int64_t bits,
                                        void* at) {
  if (bits >= 0) return rudax_store_integer(r, field, bits, at);
  if (field->kind != RUDAX_U64)
    return rudax_fail(RUDA_E_ARGUMENT, "%s: %s is %llu, expected at most %llu", r->op, field->name,
                      (unsigned long long)bits,
                      field->kind == RUDAX_I64   ? (unsigned long long)INT64_MAX
                      : field->kind == RUDAX_U32 ? (unsigned long long)UINT32_MAX
                      : field->kind == RUDAX_I32 ? (unsigned long long)INT32_MAX
                                                 : 1ULL);
  memcpy(at, &bits, sizeof bits);
  return RUDA_OK;
}

static ruda_status rudax_store_double(const rudax_field* field, double value, void* at) {
  if (field->kind == RUDAX_F32 || field->kind == RUDAX_F32_ARRAY) {
    const float v = (float)value;
    memcpy(at, &v, sizeof v);
  } else {
    memcpy(at, &value, sizeof value);
  }
  return RUDA_OK;
}

static int rudax_take(rudax_reader* r, int64_t* value) {
  if (!r->left) return 0;
  --r->left;
  *value = *r->values++;
  return 1;
}

static ruda_status rudax_read_operand(rudax_reader* r, const rudax_field* field, int64_t tag,
                                      const ruda_tensor_desc** at) {
  if (r->operands == rudax_most_operands) return rudax_fail(RUDA_E_ARGUMENT, "%s: too many operands", r->op);
  ruda_tensor_desc* desc = &r->operand[r->operands++];
  memset(desc, 0, sizeof *desc);
  desc->struct_size = (uint32_t)sizeof *desc;
  *at = desc;
  int64_t head[4];
  if (tag == 'T') {
    if (!rudax_take(r, head))
      return rudax_fail(RUDA_E_ARGUMENT, "%s: the value of %s is cut short", r->op, field->name);
    return ruda_tensor_get_desc((ruda_tensor)(intptr_t)head[0], desc);
  }
  for (int i = 0; i < 4; ++i)
    if (!rudax_take(r, &head[i]))
      return rudax_fail(RUDA_E_ARGUMENT, "%s: the value of %s is cut short", r->op, field->name);
  if (head[2] < 0 || head[2] > RUDA_MAX_RANK)
    return rudax_fail(RUDA_E_SHAPE, "%s: %s has rank %lld, expected 0 to %d", r->op, field->name,
                      (long long)head[2], RUDA_MAX_RANK);
  const uint32_t rank = (uint32_t)head[2], numbers = head[3] ? 2 * rank : rank;
  if (r->left < numbers)
    return rudax_fail(RUDA_E_ARGUMENT, "%s: the shape of %s is cut short", r->op, field->name);
  desc->dtype = (uint32_t)head[0];
  desc->flags = (uint32_t)head[1];
  desc->rank = rank;
  desc->shape = r->values;
  desc->strides = head[3] ? r->values + rank : NULL;
  r->values += numbers;
  r->left -= numbers;
  return RUDA_OK;
}

static ruda_status rudax_read_many(rudax_reader* r, const rudax_field* field, int64_t tag, char* desc) {
  int64_t count;
  if (!rudax_take(r, &count) || count < 0 || count > r->left)
    return rudax_fail(RUDA_E_ARGUMENT, "%s: the value of %s is cut short", r->op, field->name);
  if (!count && tag != 's') return RUDA_OK; /* an empty array is none */
  char* data = r->arena + r->arena_used;
  size_t bytes = 8;
  r->arena_used += 8 * ((size_t)count + 1);
  if (tag == 's') {
    for (int64_t i = 0; i < count; ++i) {
      data[i] = (char)r->values[i];
      if (!data[i])
        return rudax_fail(RUDA_E_ARGUMENT, "%s: %s holds a NUL at byte %lld, expected none", r->op,
                          field->name, (long long)i);
    }
    data[count] = 0;
  } else {
    if (field->kind == RUDAX_U32_ARRAY || field->kind == RUDAX_I32_ARRAY || field->kind == RUDAX_BOOL_ARRAY ||
        field->kind == RUDAX_F32_ARRAY)
      bytes = 4;
    for (int64_t i = 0; i < count; ++i) {
      double number;
      memcpy(&number, &r->values[i], sizeof number);
      const ruda_status status = tag == 'g'
                                     ? rudax_store_double(field, number, data + (size_t)i * bytes)
                                     : rudax_store_integer(r, field, r->values[i], data + (size_t)i * bytes);
      if (status) return status;
    }
    /* Arrays may share one count. */
    uint64_t known = 0;
    const uint64_t given = (uint64_t)count;
    memcpy(&known, desc + field->count_offset,
           field->count_bytes); /* little-endian, as every machine it runs on */
    if (known && known != given)
      return rudax_fail(RUDA_E_ARGUMENT, "%s: %s has %lld elements, expected %llu as another array", r->op,
                        field->name, (long long)count, (unsigned long long)known);
    memcpy(desc + field->count_offset, &given, field->count_bytes);
  }
  memcpy(desc + field->offset, &data, sizeof data);
  r->values += count;
  r->left -= (uint32_t)count;
  return RUDA_OK;
}

/* A name of an enumeration, in any case. */
static ruda_status rudax_read_choice(rudax_reader* r, const rudax_field* field, char* at) {
  const rudax_choices* c = field->choices;
  int64_t count;
  if (!rudax_take(r, &count) || count < 0 || count > r->left)
    return rudax_fail(RUDA_E_ARGUMENT, "%s: the value of %s is cut short", r->op, field->name);
  char given[84], lower[84];
  uint32_t length = 0;
  for (; length < count && length < sizeof given; ++length) {
    given[length] = (char)r->values[length];
    lower[length] =
        (char)(given[length] >= 'A' && given[length] <= 'Z' ? given[length] + 'a' - 'A' : given[length]);
  }
  r->values += count;
  r->left -= (uint32_t)count;
  const char* name = c->names;
  for (uint32_t i = 0; i < c->count; ++i) {
    const size_t size = strcspn(name, ",");
    if (size == length && length == count && !memcmp(name, lower, size)) {
      memcpy(at, &c->numbers[i], sizeof c->numbers[i]);
      return RUDA_OK;
    }
    name += size + (name[size] ? 2 : 0);
  }
  return rudax_fail(RUDA_E_ARGUMENT, "%s: %s is %s, expected one of %s: %s", r->op, field->name,
                    rudax_quote(given, (size_t)count).text, c->enumeration, c->names);
}

static const char* rudax_tag_name(int64_t tag) {
  switch (tag) {
    case 'i':
    case 'u': return "integer";
    case 'b': return "bool";
    case 'f': return "number";
    case 'h': return "object";
    case 'T':
    case 't': return "tensor";
    case 'a': return "integers";
    case 'g': return "numbers";
    case 's': return "text";
    default: return "unknown";
  }
}

static const char* rudax_kind_name(rudax_kind kind) {
  switch (kind) {
    case RUDAX_TENSOR: return "a tensor";
    case RUDAX_HANDLE: return "an object";
    case RUDAX_TEXT: return "a text";
    case RUDAX_F32:
    case RUDAX_F64: return "a number";
    case RUDAX_F32_ARRAY:
    case RUDAX_F64_ARRAY: return "numbers";
    default: return kind >= RUDAX_U32_ARRAY ? "integers" : "an integer";
  }
}

static ruda_status rudax_read_value(rudax_reader* r, const rudax_field* field, char* desc) {
  const int is_real = field->kind == RUDAX_F32 || field->kind == RUDAX_F64;
  const int is_integer = field->kind >= RUDAX_U32 && field->kind <= RUDAX_BOOL;
  const int real_array = field->kind == RUDAX_F32_ARRAY || field->kind == RUDAX_F64_ARRAY;
  int64_t tag, value;
  char* at = desc + field->offset;
  if (!rudax_take(r, &tag)) return rudax_fail(RUDA_E_ARGUMENT, "%s: %s has no value", r->op, field->name);
  if (tag == 'n') return RUDA_OK;
  if (field->kind == RUDAX_TENSOR && (tag == 't' || tag == 'T')) {
    const ruda_tensor_desc* operand = NULL;
    const ruda_status status = rudax_read_operand(r, field, tag, &operand);
    memcpy(at, &operand, sizeof operand);
    return status;
  }
  if ((field->kind == RUDAX_TEXT && tag == 's') || (real_array && tag == 'g') ||
      (field->kind >= RUDAX_U32_ARRAY && !real_array && tag == 'a'))
    return rudax_read_many(r, field, tag, desc);
  if (field->choices && tag == 's') return rudax_read_choice(r, field, at);
  const int fits = (field->kind == RUDAX_HANDLE && tag == 'h') ||
                   (is_real && (tag == 'f' || tag == 'i' || tag == 'u')) ||
                   (is_integer && (tag == 'i' || tag == 'u' || (tag == 'b' && !field->choices)));
  if (!fits && field->choices)
    return rudax_fail(RUDA_E_ARGUMENT, "%s: %s cannot hold a value of kind %s, expected one of %s: %s", r->op,
                      field->name, rudax_tag_name(tag), field->choices->enumeration, field->choices->names);
  if (!fits)
    return rudax_fail(RUDA_E_ARGUMENT, "%s: %s cannot hold a value of kind %s, expected %s", r->op,
                      field->name, rudax_tag_name(tag), rudax_kind_name(field->kind));
  if (!rudax_take(r, &value))
    return rudax_fail(RUDA_E_ARGUMENT, "%s: the value of %s is cut short", r->op, field->name);
  if (field->choices) {
    const ruda_status status = rudax_check_choice(r, field, tag, value);
    if (status) return status;
  }
  if (tag == 'h') {
    void* handle = (void*)(intptr_t)value;
    memcpy(at, &handle, sizeof handle);
    return RUDA_OK;
  }
  if (tag == 'f') {
    double number;
    memcpy(&number, &value, sizeof number);
    return rudax_store_double(field, number, at);
  }
  if (tag == 'u')
    return is_real ? rudax_store_double(field, (double)(uint64_t)value, at)
                   : rudax_store_unsigned(r, field, value, at);
  return is_real ? rudax_store_double(field, (double)value, at) : rudax_store_integer(r, field, value, at);
}

static const rudax_field* rudax_find_field(const rudax_field* fields, uint32_t count, const char* name,
                                           size_t length) {
  for (uint32_t i = 0; i < count; ++i)
    if (strlen(fields[i].name) == length && !memcmp(fields[i].name, name, length)) return &fields[i];
  return NULL;
}

/* Appends names, each behind a space and a prefix, as far as there is room. */
static void rudax_list(char* known, size_t bytes, const char* prefix, const rudax_field* fields,
                       uint32_t count) {
  size_t used = strlen(known);
  for (uint32_t i = 0; i < count; ++i) {
    const int added = snprintf(known + used, bytes - used, " %s%s", prefix, fields[i].name);
    if (added < 0 || (size_t)added >= bytes - used) {
      known[used] = 0;
      break;
    }
    used += (size_t)added;
  }
}

/* The message lists what there is: for the name of an option the options alone. */
static ruda_status rudax_no_field(const rudax_op* op, const char* name, size_t length, int option) {
  char known[640];
  known[0] = 0;
  if (!option) rudax_list(known, sizeof known, "", op->fields, op->field_count);
  rudax_list(known, sizeof known, "options.", rudax_option_fields, rudax_option_total);
  return rudax_fail(RUDA_E_ARGUMENT, "%s has no parameter %s: it has%s", op->name,
                    rudax_quote(name, length).text, known);
}

static ruda_status rudax_fill(rudax_reader* r, const rudax_op* op, const char* fields, rudax_room* parts) {
  for (const char* name = fields; *name;) {
    const size_t length = strcspn(name, " ");
    const int option = length > 8 && !memcmp(name, "options.", 8);
    const rudax_field* field =
        option ? rudax_find_field(rudax_option_fields, rudax_option_total, name + 8, length - 8)
               : rudax_find_field(op->fields, op->field_count, name, length);
    if (!field) return rudax_no_field(op, name, length, option);
    char* part = parts[field->part].bytes;
    const ruda_status status = rudax_read_value(r, field, part);
    if (status) return status;
    if (field->part) {
      memcpy(part, &op->parts[field->part].bytes, sizeof(uint32_t)); /* struct_size */
      memcpy(parts[0].bytes + op->parts[field->part].pointer_offset, &part, sizeof part);
    }
    name += length;
    while (*name == ' ') ++name;
  }
  return r->left ? rudax_fail(RUDA_E_ARGUMENT, "%s: %u numbers are left over", op->name, r->left) : RUDA_OK;
}

/* Makes a plan for the operator called `op`. */
RUDAX_UNUSED static ruda_status rudax_plan_create(ruda_context context, const char* op, const char* fields,
                                                  const int64_t* values, uint32_t count, ruda_plan* out) {
  *out = NULL;
  if (!op || !fields) return rudax_fail(RUDA_E_NULL, "the name of an operator is NULL");
  const rudax_op* found = NULL;
  for (uint32_t i = 0; i < rudax_op_total && !found; ++i)
    if (!strcmp(rudax_ops[i].name, op)) found = &rudax_ops[i];
  if (!found)
    return rudax_fail(RUDA_E_NOT_FOUND, "no operator is called %s", rudax_quote(op, strlen(op)).text);
  rudax_room parts[rudax_most_parts];
  memset(parts, 0, sizeof parts);
  for (uint32_t i = 0; i < found->part_count; ++i)
    if (found->parts[i].bytes > rudax_part_bytes)
      return rudax_fail(RUDA_E_INTERNAL, "the descriptor of %s is too large", op);
  memcpy(parts[0].bytes, &found->parts[0].bytes, sizeof(uint32_t)); /* struct_size */
  rudax_reader reader;
  memset(&reader, 0, sizeof reader);
  reader.op = found->name;
  reader.values = values;
  reader.left = count;
  reader.arena = (char*)malloc(8 * ((size_t)count + 1));
  if (!reader.arena) return rudax_fail(RUDA_E_OOM_HOST, "%s: no memory for %u numbers", op, count);
  ruda_status status = rudax_fill(&reader, found, fields, parts);
  if (!status) status = found->create(context, parts[0].bytes, out);
  free(reader.arena);
  return status;
}

#endif
