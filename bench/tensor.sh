#!/bin/sh
# Tensor cores beside cuBLAS on GPU 0, shape by shape, with every trial kept:
#   bench/tensor.sh PROGRAM FOLDER [short]
# tunes chosen candidates of `mma_sync` and `wgmma`, races the winners against cuBLAS and prints a table of ratios. The
# folder gets tensor_bench.csv, tensor_trials.csv (every candidate that was tried, what became of it and its time) and
# tensor.log. `short` takes about a minute, else up to six.
set -u
program=$1 folder=$2 length=${3:-full}
db=$(mktemp -d)
bench=$folder/tensor_bench.csv trials=$folder/tensor_trials.csv log=$folder/tensor.log
: > "$bench"
: > "$trials"
: > "$log"
# race NAME PRECISION LAYOUT SIZES FAMILY BUDGET [ONLY…]: searches what each ONLY allows, without any as usual.
race() {
  name=$1 precision=$2 layout=$3 sizes=$4 family=$5 budget=$6
  shift 6
  problems="--device 0 --db $db/$name.db --precision $precision --layout $layout --sizes $sizes"
  echo "$name after $(($(date +%s) - began)) s" >> "$log"
  if [ $# = 0 ]; then
    "$program" tune $problems --family "$family" --budget "$budget" --launch-limit 2s >> "$log" 2>&1
  fi
  for only in "$@"; do
    "$program" tune $problems --family "$family" --budget "$budget" --launch-limit 2s --strategy exhaustive \
      --only "$only" >> "$log" 2>&1
  done
  "$program" bench $problems --vs cublas --rounds 15 --format csv 2>> "$log" | sed "s/^/$name,/" >> "$bench"
  "$program" show --db "$db/$name.db" --trials --format csv 2>> "$log" | sed "s/^/$name,/" >> "$trials"
}
began=$(date +%s)
warps='GROUP=8 SPLIT=1 STAGES=3,4'
whole='PACK=0 SPLIT=1 REDUCE=0 GROUP=4'
parts='PACK=0 PINGPONG=0 GROUP=1'
race mma_fp16 fp16 nn 4096 mma_sync 8s \
  "BM=128 BN=128,256 WM=64 WN=64 BK_BYTES=64,128 MIN_BLOCKS=1,2 $warps"
race mma_tf32 tf32 nn,nt 4096 mma_sync 8s "BM=128 BN=128 WM=64 WN=32,64 BK_BYTES=64,128 MIN_BLOCKS=1,2 $warps"
race mma_fp64 fp64 nn 1024,2048 mma_sync 10s \
  "BM=64,128 BN=64,128 WM=32,64 WN=32 BK_BYTES=64,128 MIN_BLOCKS=1,2 $warps"
race deep bf16 nn 256x256x16384 wgmma 10s \
  "BM=32,64 BN=64,128 CONSUMERS=1 SPLIT=8 CLUSTER_M=1,2 CLUSTER_N=1,2 $parts" \
  "BM=128,256 BN=64,128 CONSUMERS=2 SPLIT=16,32 CLUSTER_M=1,2 CLUSTER_N=1 SWAP=0 $parts"
race few_rows bf16 nn 64x4096x4096 wgmma 10s \
  "BM=64 BN=64,128,192,256 SPLIT=2,4,8 CLUSTER_M=1 CLUSTER_N=1,2 CONSUMERS=1,2 $parts"
race few_columns bf16 nn 4096x64x4096 wgmma 8s \
  "BM=64,128,256 BN=64 SPLIT=2,4,8 CLUSTER_M=1,2 CLUSTER_N=1 CONSUMERS=1,2 SWAP=0 $parts"
race n3000 bf16 nn 3000 wgmma 15s \
  "BM=128,192,256 BN=128,192,256 CONSUMERS=2,3 PINGPONG=0 CLUSTER_M=1,2 CLUSTER_N=1,2 SWAP=0 $whole" \
  "BM=128 BN=192 CONSUMERS=2 PINGPONG=1 CLUSTER_M=1,2 CLUSTER_N=1,2 SWAP=0 $whole"
race n1000 bf16 nn 1000 wgmma 10s \
  "BM=64,80,128 BN=64,128 CONSUMERS=1,2 PINGPONG=0 CLUSTER_M=1,2,4 CLUSTER_N=1,2,4 $whole"
if [ "$length" != short ]; then
  race squares bf16 nn 1000,2048,2500,4096 wgmma 60s
  race mma_int8 int8 nt 4096 mma_sync 15s "BM=128 BN=128,256 WM=64 WN=64 BK_BYTES=64,128 MIN_BLOCKS=1,2 $warps"
  race vectors bf16 nn 1x8192x8192,16x8192x8192,8192x1x8192 wgmma,skinny 40s
  race others tf32,int8,e4m3_bf16 nt 64x4096x4096,256x256x16384 wgmma 60s
fi
column -s, -t "$bench" | cut -c 1-200
echo "$(($(date +%s) - began)) s"
rm -r "$db"
