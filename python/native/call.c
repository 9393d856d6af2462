// From operands to the call that multiplies them as they are.
#include <string.h>

#include "native.h"

/// A precision's number and formats.
typedef struct Row {
  const char* name;
  mmtune_precision number;
  Format a, b;
  Format results;
  Format scalar;
} Row;

// Of several with the same formats, the first is meant unless the caller names the other.
static const Row kRows[] = {
    {"fp32", MMTUNE_FP32, kF32, kF32, kF32, kF32},
    {"tf32", MMTUNE_TF32, kF32, kF32, kF32, kF32},
    {"fp32_emulated", MMTUNE_FP32_EMULATED, kF32, kF32, kF32, kF32},
    {"fp64", MMTUNE_FP64, kF64, kF64, kF64, kF64},
    {"int32", MMTUNE_INT32, kI32, kI32, kI32, kI32},
    {"fp16", MMTUNE_FP16, kF16, kF16, kF16, kF32},
    {"bf16", MMTUNE_BF16, kBf16, kBf16, kBf16, kF32},
    {"fp16_fp32", MMTUNE_FP16_FP32, kF16, kF16, kF32, kF32},
    {"bf16_fp32", MMTUNE_BF16_FP32, kBf16, kBf16, kF32, kF32},
    {"int8", MMTUNE_INT8, kI8, kI8, kI32, kI32},
    {"e4m3_bf16", MMTUNE_E4M3_BF16, kE4m3, kE4m3, kBf16, kF32},
    {"e4m3_fp32", MMTUNE_E4M3_FP32, kE4m3, kE4m3, kF32, kF32},
    {"e5m2_bf16", MMTUNE_E5M2_BF16, kE5m2, kE5m2, kBf16, kF32},
    {"e5m2_fp32", MMTUNE_E5M2_FP32, kE5m2, kE5m2, kF32, kF32},
    {"bf16_x_fp32", MMTUNE_BF16_X_FP32, kBf16, kF32, kF32, kF32},
};
enum { kRowCount = sizeof(kRows) / sizeof(kRows[0]) };

const char* precision_name(mmtune_precision precision) {
  for (int i = 0; i < kRowCount; ++i) {
    if (kRows[i].number == precision) return kRows[i].name;
  }
  return "unknown";
}

/// The row for these formats, in either order, and this name, where there is one; null and no exception where there is
/// none.
static const Row* find_row(const Product* product, const char* name) {
  for (int i = 0; i < kRowCount; ++i) {
    const Row* row = &kRows[i];
    const bool has_factors = (row->a == product->a.format && row->b == product->b.format) ||
                             (row->a == product->b.format && row->b == product->a.format);
    if (has_factors && row->results == product->c.format && (name == NULL || strcmp(row->name, name) == 0)) return row;
  }
  return NULL;
}

static const Row* row_of(const Product* product) {
  const Row* row = find_row(product, product->precision);
  if (row != NULL) return row;
  const Row* known = find_row(product, NULL);
  if (known == NULL) {
    PyErr_Format(PyExc_TypeError, "elements of %s and %s with results in %s: no such product exists",
                 kFormats[product->a.format].name, kFormats[product->b.format].name, kFormats[product->c.format].name);
  } else {
    PyErr_Format(PyExc_ValueError, "precision %s: these matrices are those of %s", product->precision, known->name);
  }
  return NULL;
}

static int64_t rows_of(const Operand* operand) { return operand->shape[operand->rank - 2]; }
static int64_t columns_of(const Operand* operand) { return operand->shape[operand->rank - 1]; }

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/// How the lines of a matrix lie.
typedef struct Lines {
  bool by_rows;  ///< false: by columns
  int64_t count;
  int64_t length;
  int64_t distance;  ///< elements from a line to the next
} Lines;

/// Refuses lines that are not contiguous, and lines that overlap. The stride of an extent of 1 says nothing, and no
/// stride of an empty matrix does.
static bool find_lines(const Operand* matrix, Lines* lines) {
  const int64_t rows = rows_of(matrix), columns = columns_of(matrix);
  const int64_t down = matrix->strides[matrix->rank - 2], across = matrix->strides[matrix->rank - 1];
  const bool empty = rows == 0 || columns == 0;
  if (empty || ((columns == 1 || across == 1) && (rows == 1 || down >= columns))) {
    *lines = (Lines){true, rows, columns, !empty && rows > 1 ? down : larger(1, columns)};
    return true;
  }
  if ((rows == 1 || down == 1) && (columns == 1 || across >= rows)) {
    *lines = (Lines){false, columns, rows, columns > 1 ? across : rows};
    return true;
  }
  refuse_view(matrix, "neither rows nor columns are contiguous without overlap; pass a copy");
  return false;
}

/// Refuses factors in the wrong order: they change places where results lie by columns.
static bool check_order(const Product* product, const Row* row, bool by_rows) {
  if (row->a == row->b || (row->a == product->a.format) == by_rows) return true;
  PyErr_Format(
      PyExc_TypeError,
      "elements of %s and %s with results by %s: %s has these factors where results lie by %s; pass such an out",
      kFormats[product->a.format].name, kFormats[product->b.format].name, by_rows ? "rows" : "columns", row->name,
      by_rows ? "columns" : "rows");
  return false;
}

static bool is_empty(const Operand* operand) {
  for (int i = 0; i < operand->rank; ++i) {
    if (operand->shape[i] == 0) return true;
  }
  return false;
}

/// How far the matrices of a batch are apart; 0 for one that all products share.
static bool find_step(const Operand* operand, int64_t* step) {
  *step = operand->rank == 2 || operand->shape[0] <= 1 || is_empty(operand) ? 0 : operand->strides[0];
  if (*step >= 0) return true;
  refuse_view(operand, "a batch goes forward; pass a copy");
  return false;
}

static bool check_ranks(const Product* product, int64_t* batch) {
  const Operand* operands[] = {&product->a, &product->b, &product->c};
  const Operand* first = NULL;
  *batch = 1;
  for (int i = 0; i < 3; ++i) {
    const Operand* each = operands[i];
    if (each->rank != 2 && each->rank != 3) {
      refuse_view(each, "a matrix has two extents, a batch of them three");
      return false;
    }
    if (each->rank == 2) continue;
    if (first != NULL && each->shape[0] != *batch) {
      PyErr_Format(PyExc_ValueError, "%s and %s: batches of %lld and %lld matrices: give one number of them",
                   first->name, each->name, (long long)*batch, (long long)each->shape[0]);
      return false;
    }
    first = each;
    *batch = each->shape[0];
  }
  return true;
}

static bool check_product(const Product* product) {
  const Operand *a = &product->a, *b = &product->b, *c = &product->c;
  if (columns_of(a) == rows_of(b) && rows_of(c) == rows_of(a) && columns_of(c) == columns_of(b)) return true;
  PyObject* shapes[] = {tuple_of(a->shape, a->rank), tuple_of(b->shape, b->rank), tuple_of(c->shape, c->rank)};
  PyErr_Format(PyExc_ValueError, "shapes %R, %R and %R: these are not those of a product", shapes[0], shapes[1],
               shapes[2]);
  for (int i = 0; i < 3; ++i) Py_XDECREF(shapes[i]);
  return false;
}

/// Refuses results that cannot be written, or that would overlap each other.
static bool check_results(const Operand* c, const Lines* lines, int64_t step, int64_t batch) {
  if (c->read_only) {
    PyErr_Format(PyExc_ValueError, "%s: is read-only; pass one that may be written", c->name);
    return false;
  }
  if (batch < 2 || is_empty(c)) return true;
  const __int128 whole = (__int128)(lines->count - 1) * lines->distance + lines->length;
  const bool are_behind = step >= whole;
  const bool are_beside =
      step >= lines->length && (__int128)(batch - 1) * step + lines->length <= (__int128)lines->distance;
  if (are_behind || are_beside) return true;
  refuse_view(c, "the results of the batch would overlap");
  return false;
}

/// Where a checked operand lies.
typedef struct Range {
  __int128 begin, end;  ///< addresses
  bool gapless;
} Range;

static Range range_of(const Operand* operand, const Lines* lines, int64_t step, int64_t batch) {
  const int64_t matrices = step == 0 ? 1 : batch;
  const __int128 matrix = (__int128)(lines->count - 1) * lines->distance + lines->length;
  const __int128 elements = (__int128)(matrices - 1) * step + matrix;
  const bool gapless = matrix == (__int128)lines->count * lines->length && (matrices == 1 || step <= matrix);
  const __int128 begin = (__int128)operand->address;
  return (Range){begin, begin + elements * kFormats[operand->format].bytes, gapless};
}

/// Whether results surely lie on a factor: views with gaps may interleave, which is theirs to know.
static bool check_apart(const Operand* factor, const Range* read, const Operand* c, const Range* written) {
  if (factor->address == 0 || c->address == 0) return true;  // The call is only asked about.
  const bool intersect = read->begin < written->end && written->begin < read->end;
  if (!intersect || (read->begin != written->begin && !(read->gapless && written->gapless))) return true;
  PyErr_Format(PyExc_ValueError, "%s: lies on %s, which the product reads; pass other memory", c->name, factor->name);
  return false;
}

static bool check_devices(const Product* product) {
  const Operand* operands[] = {&product->a, &product->b, &product->c, &product->bias};
  const Operand* first = NULL;
  for (int i = 0; i < 4; ++i) {
    const Operand* each = operands[i];
    if (each->rank == 0 || each->device == kUnknownDevice) continue;
    if (first == NULL) first = each;
    if (first->device == each->device) continue;
    PyErr_Format(PyExc_ValueError, "%s and %s: on the devices %d and %d: pass arrays of one device", first->name,
                 each->name, (int)first->device, (int)each->device);
    return false;
  }
  return true;
}

/// A bias of shape (m, 1), (1, n) or (n,).
static bool set_bias(const Product* product, mmtune_call* call) {
  const Operand* bias = &product->bias;
  if (bias->rank == 0) return true;
  if (bias->format != product->c.format) {
    PyErr_Format(PyExc_TypeError, "bias of %s: its elements must be those of the results, %s",
                 kFormats[bias->format].name, kFormats[product->c.format].name);
    return false;
  }
  const int64_t m = call->m, n = call->n;
  const int64_t last = bias->shape[bias->rank - 1], stride = bias->strides[bias->rank - 1];
  const bool has_no_gaps = last <= 1 || stride == 1;
  call->bias_vector = (const void*)bias->address;
  if (last == n && has_no_gaps && (bias->rank == 1 || (bias->rank == 2 && bias->shape[0] == 1))) {
    call->bias = MMTUNE_BIAS_PER_COLUMN;
    return true;
  }
  if (bias->rank == 2 && bias->shape[0] == m && last == 1 && (m <= 1 || bias->strides[0] == 1)) {
    call->bias = MMTUNE_BIAS_PER_ROW;
    return true;
  }
  PyObject* shape = tuple_of(bias->shape, bias->rank);
  PyObject* strides = tuple_of(bias->strides, bias->rank);
  PyErr_Format(PyExc_ValueError, "bias of shape %R, strides %R: must be (%lld, 1) or (1, %lld), without gaps", shape,
               strides, (long long)m, (long long)n);
  Py_XDECREF(shape);
  Py_XDECREF(strides);
  return false;
}

bool read_scalar(PyObject* array, const char* name, const Product* product, const void** address) {
  Operand scalar = {.name = name};
  const Row* row = row_of(product);
  if (row == NULL || !read_stored(array, name, false, &scalar)) return false;
  bool is_one = scalar.format == row->scalar;
  for (int i = 0; i < scalar.rank; ++i) is_one = is_one && scalar.shape[i] == 1;
  *address = (const void*)scalar.address;
  if (is_one) return true;
  PyObject* shape = tuple_of(scalar.shape, scalar.rank);
  PyErr_Format(PyExc_TypeError, "%s: shape %R of %s: must be one element of %s", name, shape,
               kFormats[scalar.format].name, kFormats[row->scalar].name);
  Py_XDECREF(shape);
  return false;
}

bool call_of(const Product* product, mmtune_call* call) {
  const Operand *a = &product->a, *b = &product->b, *c = &product->c;
  int64_t batch, step_a, step_b, step_c;
  Lines at_a, at_b, at_c;
  if (!check_ranks(product, &batch) || !check_product(product)) return false;
  const Row* row = row_of(product);
  if (row == NULL || !check_devices(product)) return false;
  if (!find_lines(a, &at_a) || !find_lines(b, &at_b) || !find_lines(c, &at_c)) return false;
  if (!check_order(product, row, at_c.by_rows)) return false;
  if (!find_step(a, &step_a) || !find_step(b, &step_b) || !find_step(c, &step_c)) return false;
  if (!check_results(c, &at_c, step_c, batch)) return false;
  const mmtune_call empty = MMTUNE_CALL_INIT;
  *call = empty;
  call->precision = row->number;
  call->order = at_c.by_rows ? MMTUNE_ROW_MAJOR : MMTUNE_COLUMN_MAJOR;
  call->transpose_a = at_a.by_rows != at_c.by_rows;
  call->transpose_b = at_b.by_rows != at_c.by_rows;
  call->m = rows_of(c), call->n = columns_of(c), call->k = columns_of(a);
  call->alpha = product->alpha, call->beta = product->beta;
  call->a = (const void*)a->address, call->lda = at_a.distance;
  call->b = (const void*)b->address, call->ldb = at_b.distance;
  call->c = (void*)c->address, call->ldc = at_c.distance;
  call->batch = batch;
  call->stride_a = step_a, call->stride_b = step_b, call->stride_c = step_c;
  call->activation = product->activation;
  call->device_alpha = product->device_alpha, call->device_beta = product->device_beta;
  call->invariant = product->invariant;
  if (!set_bias(product, call)) return false;
  if (batch == 0 || is_empty(c) || call->k == 0) return true;
  const Range written = range_of(c, &at_c, step_c, batch);
  const Range read_a = range_of(a, &at_a, step_a, batch), read_b = range_of(b, &at_b, step_b, batch);
  return check_apart(a, &read_a, c, &written) && check_apart(b, &read_b, c, &written);
}
