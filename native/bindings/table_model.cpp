// Python's view of table_model.h, and the values of a single row from a Python dict or list.
#include "kernelsketch/table_model.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/tables.h"
#include "predictor.h"
#include "trees.h"

namespace kernelsketch::bindings {
namespace {

enum Kind { kUnused, kNumber, kDate, kCategory };

// How the value of a column becomes numbers and the position of a flag. `targets` are places among the numbers of a row.
struct RowColumn {
  nb::object name;
  int kind;
  std::vector<int64_t> targets;
  std::vector<int> parts;  // of a date, by target
  int64_t flagged;         // place among the positions of a row, or -1
  int32_t missing;         // position of a missing number or date
  nb::dict known;          // values of a category -> row of `numbers` and `positions`
  std::vector<double> numbers;
  std::vector<int32_t> positions;
};

// What a row holds after reading.
struct RowFeatures {
  std::vector<double> numbers;
  std::vector<int32_t> positions;
};

class PyRowReader {
 public:
  // `exact` holds the types of NumPy's numbers. `read(column, value)` returns what other values are: a float, the
  // microseconds of a date or None, or the numbers and the position of a category.
  PyRowReader(nb::object exact, nb::object read) : exact_(std::move(exact)), read_(std::move(read)) {}

  void add(nb::str name, int kind, std::vector<int64_t> targets, std::vector<int> parts, int64_t flagged,
           int32_t missing, nb::typed<nb::dict, nb::any, int> known, const Matrix<double>& numbers,
           const Vector<int32_t>& positions) {
    RowColumn column{
        std::move(name), kind, std::move(targets), std::move(parts), flagged, missing, std::move(known), {}, {}};
    const auto width = static_cast<int64_t>(column.targets.size());
    require(bindings::columns(numbers) == width && bindings::rows(numbers) == bindings::rows(positions),
            "numbers, positions: one row per known value");
    require(kind != kDate || column.parts.size() == column.targets.size(), "parts: one per target");
    column.numbers.assign(numbers.data(), numbers.data() + numbers.shape(0) * numbers.shape(1));
    column.positions.assign(positions.data(), positions.data() + positions.shape(0));
    for (const int64_t target : column.targets) n_numbers_ = std::max(n_numbers_, target + 1);
    n_flagged_ = std::max(n_flagged_, flagged + 1);
    columns_.push_back(std::move(column));
  }

  // The column whose value the row lacks, or -1.
  int64_t read(nb::handle row, RowFeatures& out) const {
    out.numbers.assign(n_numbers_, std::numeric_limits<double>::quiet_NaN());
    out.positions.assign(n_flagged_, -1);
    const bool is_dict = PyDict_Check(row.ptr());
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      PyObject* value = nullptr;
      if (is_dict) {
        value = PyDict_GetItemWithError(row.ptr(), columns_[c].name.ptr());
        if (!value && PyErr_Occurred()) throw nb::python_error();
      } else if (c < nb::len(row)) {
        value = PyList_GetItem(row.ptr(), static_cast<Py_ssize_t>(c));
      }
      if (!value) return static_cast<int64_t>(c);
      read_value(static_cast<int64_t>(c), nb::borrow(value), out);
    }
    return -1;
  }
  int64_t n_numbers() const { return n_numbers_; }
  int64_t n_flagged() const { return n_flagged_; }
  const std::vector<RowColumn>& columns() const { return columns_; }

 private:
  void read_value(int64_t c, const nb::object& value, RowFeatures& out) const {
    const RowColumn& column = columns_[c];
    if (column.kind == kUnused) return;
    if (column.kind == kCategory) return read_category(c, value, out);
    const bool is_date = column.kind == kDate;
    double number = 0;
    int64_t date = 0;
    bool missing = value.is_none();
    if (!missing && !(!is_date && plain_number(value.ptr(), number))) {
      const nb::object found = read_(c, value);
      if (found.is_none())
        missing = true;
      else if (is_date)
        date = nb::cast<int64_t>(found);
      else
        number = nb::cast<double>(found);
    }
    missing = missing || number != number;
    if (column.flagged >= 0 && missing) out.positions[column.flagged] = column.missing;
    for (std::size_t i = 0; i < column.targets.size() && !missing; ++i)
      out.numbers[column.targets[i]] = is_date ? ks_date_part(date, column.parts[i]) : number;
  }

  void read_category(int64_t c, const nb::object& value, RowFeatures& out) const {
    const RowColumn& column = columns_[c];
    PyObject* const object = value.ptr();
    PyObject* known = nullptr;
    if (PyUnicode_Check(object) || PyLong_Check(object) || PyFloat_Check(object) || value.is_none()) {
      const bool is_nan = PyFloat_Check(object) && std::isnan(PyFloat_AS_DOUBLE(object));
      known = PyDict_GetItemWithError(column.known.ptr(), is_nan ? Py_None : object);
      if (!known && PyErr_Occurred()) throw nb::python_error();
    }
    if (known) {
      const auto row = static_cast<std::size_t>(PyLong_AsSsize_t(known)), width = column.targets.size();
      for (std::size_t i = 0; i < width; ++i) out.numbers[column.targets[i]] = column.numbers[row * width + i];
      if (column.flagged >= 0) out.positions[column.flagged] = column.positions[row];
      return;
    }
    const auto found = nb::cast<std::pair<std::vector<double>, int32_t>>(read_(c, value));
    require(found.first.size() == column.targets.size(), "read: wrong number of numbers");
    for (std::size_t i = 0; i < found.first.size(); ++i) out.numbers[column.targets[i]] = found.first[i];
    if (column.flagged >= 0) out.positions[column.flagged] = found.second;
  }

  // Whether a value is a finite number or NaN of a type that says so.
  bool plain_number(PyObject* value, double& number) const {
    if (PyFloat_Check(value)) {
      number = PyFloat_AS_DOUBLE(value);
    } else if (PyLong_Check(value)) {
      number = PyLong_AsDouble(value);
    } else {
      const int is_exact = PySet_Contains(exact_.ptr(), reinterpret_cast<PyObject*>(Py_TYPE(value)));
      if (is_exact < 0) throw nb::python_error();
      if (is_exact == 0) return false;
      number = PyFloat_AsDouble(value);
    }
    if (number == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      return false;
    }
    return !std::isinf(number);
  }

  nb::object exact_, read_;
  std::vector<RowColumn> columns_;
  int64_t n_numbers_ = 0, n_flagged_ = 0;
};

template <class T>
Strided<T> strided(const AnyOrder<T>& x) {
  return {x.data(), rows(x), columns(x), x.stride(0), x.stride(1)};
}

template <class T>
std::vector<T> copied(const auto& x) {
  return std::vector<T>(x.data(), x.data() + x.size());
}

class PyTableModel {
 public:
  PyTableModel(const std::string& isa, const PyPredictor& predictor, const PyTrees* trees,
               const Matrix<int64_t>& features, const Vector<int64_t>& starts, const Matrix<double>& scales,
               const Matrix<double>& quantiles, const Vector<double>& levels, const Vector<double>& mean,
               const Matrix<double>& directions, const Vector<int32_t>& sources, const Vector<float>& weights,
               const Matrix<double>& slopes, const Vector<double>& intercepts, std::vector<double> finish)
      : flags_(rows(starts)) {
    const int64_t d = rows(features), n_scales = rows(scales), m = rows(levels), count = columns(directions);
    require(columns(features) == 2 && columns(scales) == 5, "features, scales: wrong shape");
    require(rows(quantiles) == n_scales && columns(quantiles) == m && m >= 2, "quantiles: wrong shape");
    require(rows(mean) == d && rows(directions) == d, "mean, directions: one per feature");
    require(rows(weights) == rows(sources) && rows(sources) == predictor.width(), "sources, weights: one per column");
    require(finish.size() == 4, "finish: four numbers");
    TableParts parts{};
    for (int64_t f = 0; f < d; ++f) {
      const int64_t *of = features.data() + 2 * f, number = of[0], scale = of[1];
      require(number >= -1 && number < d && scale >= -1 && scale < n_scales, "features: out of range");
      parts.features.push_back({number, scale});
    }
    parts.starts = copied<int64_t>(starts);
    for (int64_t c = 0; c < rows(starts); ++c) {
      int64_t end = c + 1 < rows(starts) ? parts.starts[c + 1] : d;
      require(parts.starts[c] >= 0 && parts.starts[c] < end && end <= d, "starts: do not ascend");
      while (end > parts.starts[c] && parts.features[end - 1].number >= 0) --end;  // numbers of the columns between
      flags_[c] = static_cast<int32_t>(end - parts.starts[c]);
    }
    for (int64_t s = 0; s < n_scales; ++s) {
      const double* of = scales.data() + 5 * s;
      parts.scales.push_back({of[0], of[1], of[2], of[3], of[4]});
    }
    parts.quantiles = copied<double>(quantiles);
    parts.levels = copied<double>(levels);
    parts.mean = copied<double>(mean);
    parts.directions = copied<double>(directions);
    parts.components = count;
    for (int64_t i = 0; i < rows(sources); ++i) {
      const int32_t source = sources.data()[i];
      require(source >= 0 && source < 2 * d + count, "sources: out of range");
      parts.columns.push_back({source, weights.data()[i]});
      parts.has_quantiles |= source >= d + count;
    }
    parts.problems = predictor.problems();
    parts.slopes = copied<double>(slopes);
    parts.intercepts = copied<double>(intercepts);
    const auto n_intercepts = static_cast<int64_t>(parts.intercepts.size());
    require(n_intercepts == 0 || (n_intercepts == parts.problems && columns(slopes) == parts.problems &&
                                  (rows(slopes) == 1 || rows(slopes) == parts.problems)),
            "slopes, intercepts: one per problem");
    require(n_intercepts > 0 || parts.problems == 1, "intercepts: none, of several problems");
    parts.center = finish[0];
    parts.spread = finish[1];
    parts.share = finish[2];
    parts.temperature = finish[3];
    std::optional<ReadyTrees> ready;
    if (trees) {
      require(trees->view().outputs == parts.problems, "trees: wrong number of outputs");
      ready.emplace(trees->view(), d);
    }
    const PyPredictor* const of = &predictor;
    const auto decide = [of](const float* x, int64_t n, int64_t, double* out, int threads) {
      return of->decide_floats(x, n, out, threads);
    };
    core_ = std::make_unique<TableModel>(find_isa(isa), std::move(parts), decide, std::move(ready));
  }

  bool values(const AnyOrder<double>& numbers, const AnyOrder<int32_t>& positions, const Target<double>& out,
              int threads) const {
    const int64_t n = rows(numbers), problems = core_->problems();
    require(columns(numbers) >= core_->n_numbers() && columns(positions) == core_->n_flagged() && rows(positions) == n,
            "numbers, positions: wrong shape");
    require(rows(out) == n && columns(out) == problems && in_order(out, problems), "out: wrong shape or strides");
    const Strided<int32_t> places = strided<int32_t>(positions);
    for (int64_t c = 0; c < places.d; ++c)
      for (int64_t i = 0; i < n; ++i) require(places(i, c) < flags_[c], "positions: out of range");
    bool finite = true;
    without_gil([&] { finite = core_->values(strided<double>(numbers), places, out.data(), threads, interrupted); });
    return finite;
  }

  // The column that a row lacks, -1 if there is none, or -2 if a value is not finite.
  int64_t row(const PyRowReader& reader, nb::handle row, const Target<double>& out) const {
    const int64_t problems = core_->problems();
    require(rows(out) == 1 && columns(out) == problems && in_order(out, problems), "out: wrong shape or strides");
    require(PyDict_Check(row.ptr()) || PyList_Check(row.ptr()), "row: neither a dict nor a list");
    RowFeatures found;
    const int64_t lacking = reader.read(row, found);
    if (lacking >= 0) return lacking;
    const auto d = static_cast<int64_t>(found.numbers.size()), c = static_cast<int64_t>(found.positions.size());
    require(d >= core_->n_numbers() && c == core_->n_flagged(), "reader: not of this model");
    for (int64_t i = 0; i < c; ++i) require(found.positions[i] < flags_[i], "positions: out of range");
    bool finite = true;
    without_gil([&] {
      finite = core_->values({found.numbers.data(), 1, d, d, 1}, {found.positions.data(), 1, c, c, 1}, out.data(), 1,
                             nullptr);
    });
    return finite ? -1 : -2;
  }

 private:
  std::vector<int32_t> flags_;  // of each column that has flags
  std::unique_ptr<TableModel> core_;
};

void components_of(const AnyOrder<float>& standard, const Vector<double>& mean, const Matrix<double>& directions,
                   const Target<float>& out, int threads) {
  const int64_t n = rows(standard), d = columns(standard), count = columns(directions);
  require(rows(mean) == d && rows(directions) == d, "mean, directions: one per feature");
  require(rows(out) == n && columns(out) == count && in_order(out, count), "out: wrong shape or strides");
  without_gil([&] {
    components(strided<float>(standard), mean.data(), directions.data(), count, out.data(), threads, interrupted);
  });
}

void shares_of(const Matrix<double>& logits, const Target<double>& out) {
  const int64_t problems = columns(logits), classes = problems == 1 ? 2 : problems;
  require(problems > 0 && rows(out) == rows(logits) && columns(out) == classes && in_order(out, classes),
          "out: wrong shape or strides");
  shares(logits.data(), rows(logits), static_cast<int>(problems), out.data());
}

void blended_of(const Matrix<double>& logits, const Matrix<double>& trees, double share, double temperature,
                const Target<double>& out) {
  const int64_t n = rows(logits), problems = columns(logits);
  require(problems > 0 && rows(trees) == n && columns(trees) == problems, "trees: wrong shape");
  require(rows(out) == n && columns(out) == problems && in_order(out, problems), "out: wrong shape or strides");
  std::vector<double> scratch(2 * problems + 4);
  for (int64_t i = 0; i < n; ++i)
    ks_blended(logits.data() + i * problems, trees.data() + i * problems, static_cast<int>(problems), share,
               temperature, scratch.data(), scratch.data() + problems + 2, out.data() + i * problems);
}

}  // namespace

void define_table_model(nb::module_& m) {
  nb::class_<PyRowReader>(m, "RowReader", "How the values of one row become numbers and positions of flags.")
      .def(nb::init<nb::object, nb::object>(), "exact"_a, "read"_a)
      .def("add", &PyRowReader::add, "name"_a, "kind"_a, "targets"_a, "parts"_a, "flagged"_a, "missing"_a, "known"_a,
           "numbers"_a, "positions"_a, "Add a column of the kind 0 (not used), 1 (number), 2 (date) or 3 (category).");
  nb::class_<PyTableModel>(m, "TableModel", "A model of tables with everything ready that does not depend on a row.")
      .def(nb::init<const std::string&, const PyPredictor&, const PyTrees*, Matrix<int64_t>, Vector<int64_t>,
                    Matrix<double>, Matrix<double>, Vector<double>, Vector<double>, Matrix<double>, Vector<int32_t>,
                    Vector<float>, Matrix<double>, Vector<double>, std::vector<double>>(),
           nb::keep_alive<1, 3>(), "isa"_a, "predictor"_a, "trees"_a.none(), "features"_a, "starts"_a, "scales"_a,
           "quantiles"_a, "levels"_a, "mean"_a, "directions"_a, "sources"_a, "weights"_a, "slopes"_a, "intercepts"_a,
           "finish"_a)
      .def("values", &PyTableModel::values, "numbers"_a, "positions"_a, "out"_a, "threads"_a,
           "Fill `out` (rows, problems) with logits or predictions. False if a value is not finite.")
      .def("row", &PyTableModel::row, "reader"_a, "row"_a, "out"_a,
           "Do it for one row, a dict or a list: -1, the number of a column that it lacks, or -2 if not finite.");
  m.def("components", components_of, "standard"_a, "mean"_a, "directions"_a, "out"_a, "threads"_a,
        "Fill `out` (rows, components) with the components of standardized features.");
  m.def("shares", shares_of, "logits"_a, "out"_a, "Fill `out` (rows, classes) with probabilities.");
  m.def("blended", blended_of, "logits"_a, "trees"_a, "share"_a, "temperature"_a, "out"_a,
        "Fill `out` (rows, problems) with the logits of the blend of a linear model and trees.");
}

}  // namespace kernelsketch::bindings
