/* A small front end in C: compiles an expression over float arrays to a kernel.
 *
 *   expression "sqrt(x) * 2 + y" > k.ptx          PTX for sm_80
 *   expression --ir "x > y && 1 || x" > k.mtir    the IR
 *
 * One-letter names are arrays, `i` is the index. The kernel is `expression(out, n, a, b, …)`, with
 * the arrays of the expression in alphabetical order, and sets out[i] for every i below n.
 */

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mtlc/mtlc.h"

typedef struct {
  const char *text; /* What is left. */
  const char *begin;
  const char *error;
  int used[26];
  MtlcFn *fn;
  MtlcValue arrays[26];
  MtlcValue index; /* int64 */
} Parser;

static MtlcType *f32(void) { return mtlc_type_scalar(MTLC_TYPE_FLOAT32); }
static MtlcType *i64(void) { return mtlc_type_scalar(MTLC_TYPE_INT64); }

static void skip(Parser *p) {
  while (isspace((unsigned char)*p->text)) ++p->text;
}

static int accept(Parser *p, const char *token) {
  skip(p);
  if (strncmp(p->text, token, strlen(token)) != 0) return 0;
  /* `<` is not the start of `<=`. */
  if (strlen(token) == 1 && strchr("<>=", token[0]) && p->text[1] == '=') return 0;
  p->text += strlen(token);
  return 1;
}

static MtlcValue fail(Parser *p, const char *message) {
  if (!p->error) p->error = message;
  return MTLC_NO_VALUE;
}

static MtlcValue number(Parser *p, double value) {
  return p->fn ? mtlc_const_float(p->fn, f32(), value) : MTLC_NO_VALUE;
}

/* The address of element i of an array. */
static MtlcValue element(Parser *p, MtlcValue array) {
  MtlcValue four = mtlc_const_int(p->fn, i64(), 4);
  MtlcValue offset = mtlc_binary(p->fn, "*", p->index, four, i64());
  return mtlc_binary(p->fn, "+", array, offset, mtlc_type_pointer(f32()));
}

static MtlcValue ternary(Parser *p);

static MtlcValue call(Parser *p, const char *name, size_t length) {
  static const struct {
    const char *name;
    MtlcIntrinsic intrinsic;
  } functions[] = {
      {"sqrt", MTLC_INTRINSIC_GPU_SQRT_F32}, {"rsqrt", MTLC_INTRINSIC_GPU_RSQRT_F32},
      {"abs", MTLC_INTRINSIC_GPU_ABS_F32},   {"sin", MTLC_INTRINSIC_GPU_SIN_F32},
      {"cos", MTLC_INTRINSIC_GPU_COS_F32},   {"log", MTLC_INTRINSIC_GPU_LOG_F32},
      {"exp", MTLC_INTRINSIC_GPU_EXP_F32},
  };
  MtlcValue argument = ternary(p);
  if (!accept(p, ")")) return fail(p, "expected ')'");
  for (size_t k = 0; k < sizeof functions / sizeof functions[0]; ++k) {
    if (strlen(functions[k].name) == length && strncmp(functions[k].name, name, length) == 0) {
      if (!p->fn) return MTLC_NO_VALUE;
      return mtlc_intrinsic(p->fn, functions[k].intrinsic, &argument, 1, f32());
    }
  }
  return fail(p, "unknown function");
}

static MtlcValue primary(Parser *p) {
  skip(p);
  if (accept(p, "(")) {
    MtlcValue v = ternary(p);
    return accept(p, ")") ? v : fail(p, "expected ')'");
  }
  if (accept(p, "-")) {
    MtlcValue v = primary(p);
    return p->fn ? mtlc_unary(p->fn, "-", v, f32()) : v;
  }
  if (isdigit((unsigned char)*p->text) || *p->text == '.') {
    char *end;
    double value = strtod(p->text, &end);
    if (end == p->text) return fail(p, "expected a number");
    p->text = end;
    return number(p, value);
  }
  if (islower((unsigned char)*p->text)) {
    const char *name = p->text;
    while (islower((unsigned char)*p->text)) ++p->text;
    size_t length = (size_t)(p->text - name);
    if (accept(p, "(")) return call(p, name, length);
    if (length != 1) return fail(p, "names have one letter");
    if (*name == 'i') return p->fn ? mtlc_cast(p->fn, p->index, f32()) : MTLC_NO_VALUE;
    p->used[*name - 'a'] = 1;
    if (!p->fn) return MTLC_NO_VALUE;
    return mtlc_load(p->fn, element(p, p->arrays[*name - 'a']), f32());
  }
  return fail(p, "expected a number, a name or '('");
}

/* Levels of binary operators, the loosest first. */
static MtlcValue binary(Parser *p, int level) {
  static const char *const levels[][5] = {{"||"},     {"&&"},     {"<=", ">=", "==", "!="},
                                          {"<", ">"}, {"+", "-"}, {"*", "/"}};
  if (level == (int)(sizeof levels / sizeof levels[0])) return primary(p);
  MtlcValue left = binary(p, level + 1);
  for (;;) {
    const char *op = NULL;
    for (int k = 0; k < 5 && levels[level][k] && !op; ++k) {
      if (accept(p, levels[level][k])) op = levels[level][k];
    }
    if (!op || p->error) return left;
    MtlcValue right = binary(p, level + 1);
    if (p->fn) left = mtlc_binary(p->fn, op, left, right, f32());
  }
}

/* condition ? a : b, through a variable and two labels. */
static MtlcValue ternary(Parser *p) {
  static int count;
  MtlcValue condition = binary(p, 0);
  if (!accept(p, "?")) return condition;
  char otherwise[32], done[32];
  int id = count++;
  sprintf(otherwise, "else%d", id);
  sprintf(done, "done%d", id);
  MtlcValue result = MTLC_NO_VALUE;
  if (p->fn) {
    result = mtlc_local(p->fn, "choice", f32());
    mtlc_branch_if_zero(p->fn, condition, otherwise);
  }
  MtlcValue a = ternary(p);
  if (!accept(p, ":")) return fail(p, "expected ':'");
  if (p->fn) {
    mtlc_assign(p->fn, result, a);
    mtlc_jump(p->fn, done);
    mtlc_label(p->fn, otherwise);
  }
  MtlcValue b = ternary(p);
  if (p->fn) {
    mtlc_assign(p->fn, result, b);
    mtlc_label(p->fn, done);
  }
  return result;
}

static int parse(Parser *p, MtlcValue *value) {
  p->text = p->begin;
  *value = ternary(p);
  skip(p);
  if (!p->error && *p->text) fail(p, "expected the end of the expression");
  if (p->error)
    fprintf(stderr, "expression:%d: error: %s\n", (int)(p->text - p->begin) + 1, p->error);
  return p->error == NULL;
}

static MtlcModule *compile(Parser *p) {
  MtlcType *i32 = mtlc_type_scalar(MTLC_TYPE_INT32);
  MtlcType *pointer = mtlc_type_pointer(f32());
  const char *names[28] = {"out", "n"};
  MtlcType *types[28] = {pointer, i32};
  char letters[26][2];
  size_t count = 2;
  MtlcValue value;
  if (!parse(p, &value)) return NULL; /* The first time only finds the arrays. */
  MtlcBuilder *builder = mtlc_builder_create();
  for (int k = 0; k < 26; ++k) {
    if (!p->used[k]) continue;
    letters[k][0] = (char)('a' + k);
    letters[k][1] = '\0';
    names[count] = letters[k];
    types[count++] = pointer;
  }
  p->fn = mtlc_builder_kernel(builder, "expression", names, types, count);
  mtlc_fn_set_location(p->fn, "expression", 1, 1);
  for (int k = 0, at = 2; k < 26; ++k) {
    if (p->used[k]) p->arrays[k] = mtlc_fn_param(p->fn, (size_t)at++);
  }
  MtlcValue block = mtlc_intrinsic(p->fn, MTLC_INTRINSIC_GPU_GROUP_ID_X, NULL, 0, i64());
  MtlcValue size = mtlc_intrinsic(p->fn, MTLC_INTRINSIC_GPU_LOCAL_SIZE_X, NULL, 0, i64());
  MtlcValue thread = mtlc_intrinsic(p->fn, MTLC_INTRINSIC_GPU_LOCAL_ID_X, NULL, 0, i64());
  p->index = mtlc_binary(p->fn, "+", mtlc_binary(p->fn, "*", block, size, i64()), thread, i64());
  MtlcValue inside =
      mtlc_binary(p->fn, "<", p->index, mtlc_fn_param(p->fn, 1), mtlc_type_scalar(MTLC_TYPE_BOOL));
  mtlc_branch_if_zero(p->fn, inside, "end");
  parse(p, &value);
  mtlc_store(p->fn, element(p, mtlc_fn_param(p->fn, 0)), value, f32());
  mtlc_label(p->fn, "end");
  mtlc_return(p->fn, MTLC_NO_VALUE);
  if (!mtlc_builder_check(builder)) fputs(mtlc_builder_error(builder), stderr);
  return mtlc_builder_finish(builder);
}

int main(int argc, char **argv) {
  int ir = argc == 3 && strcmp(argv[1], "--ir") == 0;
  if (argc != 2 && !ir) {
    fputs("usage: expression [--ir] EXPRESSION\n", stderr);
    return 2;
  }
  Parser parser;
  memset(&parser, 0, sizeof parser);
  parser.begin = argv[argc - 1];
  MtlcModule *module = compile(&parser);
  if (!module) return 1;
  MtlcContext *context = mtlc_context_create();
  mtlc_context_set_ptx_target(context, "sm_80", 0, 0);
  char *text = NULL;
  size_t length = 0;
  if (mtlc_optimize(context, module)) {
    if (ir) {
      text = mtlc_module_to_text(module, &length);
    } else {
      mtlc_emit_to_memory(context, module, MTLC_ARCH_PTX, &text, &length);
    }
  }
  if (text) {
    fwrite(text, 1, length, stdout);
  } else {
    fputs(mtlc_context_error(context), stderr);
  }
  int code = text ? 0 : 1;
  mtlc_free(text);
  mtlc_context_destroy(context);
  mtlc_module_destroy(module);
  return code;
}
