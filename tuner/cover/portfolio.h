// The smallest set of kernels that serves many sizes almost as well as a kernel for each.
#pragma once

#include <cstddef>
#include <set>
#include <vector>

namespace mmtune {

/// Times of kernels for sizes; infinite where a kernel cannot run or was not measured.
struct TimeMatrix {
  std::size_t kernels = 0;
  std::vector<double> weights;               ///< the weights of the sizes, each over 0
  std::vector<std::vector<double>> time_us;  ///< times by size, then by kernel
  std::vector<std::size_t> programs = {};    ///< the number of each kernel's program; empty: each has its own
};

struct Portfolio {
  std::vector<std::size_t> kernels;  ///< the chosen kernels, in the order of what each adds
  std::set<std::size_t> programs;    ///< the programs that these kernels are launched from
  double mean_loss = 0;  ///< the weighted mean over the sizes: 0.01 is one percent more time than with all kernels
  double worst_loss = 0;
};

/// Adds to the first ones the kernel that lowers the losses most, one after the other, until their mean is `loss` or no
/// other is of use among those of at most `most` programs: kernels of one program differ in what its launch says, and
/// cost nothing more. Every size that a kernel can run gets one as long as there is room. Large losses count more than
/// in proportion, so that no size pays for many others. The greedy choice is within a factor of the best of its length
/// (G. Nemhauser, L. Wolsey, M. Fisher, An analysis of approximations for maximizing submodular set functions, 1978).
Portfolio choose_portfolio(const TimeMatrix& matrix, std::size_t most, double loss,
                           const std::vector<std::size_t>& first = {});

}  // namespace mmtune
