#include "templates/model/cost_rates.h"

namespace mmtune {

FetchRates rates_of(const ModelNumbers& numbers, Fetch fetch) {
  FetchRates rates{.l2_bytes_per_clock = numbers.l2_bytes_per_clock,
                   .read_share = 1,
                   .store_share = 1,
                   .launch_us = numbers.launch_us,
                   .beside_us = 0,
                   .copy_us = numbers.copy_us,
                   .copy_bytes_per_clock = numbers.copy_bytes_per_clock};
  if (fetch == Fetch::copies) {
    rates.l2_bytes_per_clock = numbers.copies_l2_bytes_per_clock;
    rates.read_share = numbers.copies_read_share;
    rates.store_share = numbers.copies_store_share;
  }
  if (fetch != Fetch::accelerator) return rates;
  return {.l2_bytes_per_clock = numbers.accelerator_l2_bytes_per_clock,
          .read_share = numbers.accelerator_read_share,
          .store_share = numbers.accelerator_store_share,
          .launch_us = numbers.accelerator_launch_us,
          .beside_us = numbers.accelerator_beside_us,
          .copy_us = numbers.accelerator_copy_us,
          .copy_bytes_per_clock = numbers.accelerator_copy_bytes_per_clock};
}

double warp_fma_per_clock_per_sm(const DeviceSpec& device, Unit unit) {
  const ModelNumbers& numbers = model_numbers(device);
  const bool warpgroups_multiply =
      unit == Unit::tensor_tf32 || unit == Unit::tensor_fp16 || unit == Unit::tensor_bf16 || unit == Unit::tensor_int8;
  const double share = unit == Unit::tensor_fp8 ? numbers.warp_fp8_share : warpgroups_multiply ? numbers.warp_share : 1;
  return share * fma_per_clock_per_sm(device, unit);
}

}  // namespace mmtune
