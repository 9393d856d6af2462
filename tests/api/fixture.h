// The library on a driver that pretends, with a program for every precision and layout that the test offers.
#pragma once

#include <gtest/gtest.h>
#include <mmtune/mmtune.h>

#include <string>
#include <vector>

#include "runtime/gpu/device_query.h"
#include "tests/fake_cuda/fake_cuda.h"
#include "tests/runtime/stored_kernels.h"
#include "tests/runtime/support.h"

namespace mmtune::test {

/// What the machine needs is Base's affair.
template <class Base>
class ApiTestWith : public Base {
 protected:
  ~ApiTestWith() override {
    EXPECT_EQ(fake_cuda().broken_captures.exchange(0), 0);
    fake_cuda().is_capturing = false;
    fake_cuda().captured_stream = nullptr;
  }

  /// Stores a program that runs every size of this precision and layout, as tuned for one size.
  void offer(Precision precision, Layout layout) const {
    offer(database(), {packed_problem(precision, layout, 1, 1, 1), "naive", "", 1});
  }

  /// The decision's program, which pretends to take `us`, whatever was measured of it.
  static void offer(const std::string& file, const Decision& decision, double us = 1) {
    offer_program(file, decision, fake_program(decision.problem.precision, decision.problem.layout, us));
  }

  static void offer_program(const std::string& file, const Decision& decision, const std::string& program) {
    const DeviceSpec device = query_device(0);
    const CompileTarget target = compile_target(device, {90});
    const Source source = source_of(decision, device, target.compute_capability);
    Binary binary = pretended_binary(source, target);
    binary.cubin = program + " " + source.hash;
    binary.hash = hash_machine_code(binary.cubin);
    Store store = Store::open(file, OpenMode::read_write);
    put(store, device, decision, source.hash, binary);
  }

  void offer(Precision precision) const {
    for (const Layout layout : kAllLayouts) offer(precision, layout);
  }

  std::string database() const { return directory_.file("test.db"); }

  TemporaryDirectory directory_;
  ScopedEnv place_{"MMTUNE_DB", database().c_str()};
  ScopedEnv quiet_{"MMTUNE_LOG", "silent"};
};

using ApiTest = ApiTestWith<testing::Test>;

/// Small whole numbers, which every precision adds without rounding.
template <class T>
std::vector<T> numbers(std::size_t count, int seed) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<T>(static_cast<int>((i * 7 + static_cast<std::size_t>(seed)) % 11 % 5) - 2);
  }
  return values;
}

inline std::size_t place_of(Order order, std::int64_t row, std::int64_t column, std::int64_t ld) {
  return static_cast<std::size_t>(order == Order::row_major ? row * ld + column : column * ld + row);
}

/// What a call must leave in C, by a plain loop; addresses are those of the host.
template <class T>
std::vector<T> expected(const Gemm& call, std::vector<T> c) {
  const auto* a = static_cast<const T*>(call.a);
  const auto* b = static_cast<const T*>(call.b);
  for (std::int64_t row = 0; row < call.m; ++row) {
    for (std::int64_t column = 0; column < call.n; ++column) {
      double sum = 0;
      for (std::int64_t l = 0; l < call.k; ++l) {
        const bool ta = transposes_a(call.layout), tb = transposes_b(call.layout);
        sum += static_cast<double>(a[place_of(call.order, ta ? l : row, ta ? row : l, call.lda)]) *
               static_cast<double>(b[place_of(call.order, tb ? column : l, tb ? l : column, call.ldb)]);
      }
      T& result = c[place_of(call.order, row, column, call.ldc)];
      result = static_cast<T>(call.alpha * sum + (call.beta == 0 ? 0 : call.beta * static_cast<double>(result)));
    }
  }
  return c;
}

}  // namespace mmtune::test
