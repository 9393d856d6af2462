#!/bin/sh
# Products of language models, serving and training, tuned and raced against cuBLAS on GPU 0:
#   bench/serving_table.sh FOLDER [MMTUNE [BUDGET [ROUNDS [BLOCK...]]]]
# As bench/tensor_table.sh, with the sets and layouts that such models have and 150s for tuning each block by default,
# two seconds a size; about 15 minutes in all. The folder gets serving_vs_cublas.csv and serving_trials.csv.xz.
set -eu
folder=$1
mmtune=${2:-build/mmtune}
budget=${3:-150s}
rounds=${4:-15}
if [ $# -gt 4 ]; then shift 4; else set --; fi
if [ $# = 0 ]; then
  set -- bf16:nt:serving fp16:nt:serving e4m3_bf16:nt:serving_fp8 bf16:nn:training bf16:tn:training
fi
"$(dirname "$0")/tensor_table.sh" "$folder" "$mmtune" "$budget" "$rounds" "$@"
mv "$folder/tensor_vs_cublas.csv" "$folder/serving_vs_cublas.csv"
mv "$folder/tensor_trials.csv.xz" "$folder/serving_trials.csv.xz"
