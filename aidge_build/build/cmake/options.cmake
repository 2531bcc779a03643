# SPDX-License-Identifier: MIT
# Written by `aidge-build list options --update .`; do not edit.
# single, lists: keywords of a call. rows: keyword:what becomes of the value:option of `aidge-build`.
macro(_aidge_options_of_model)
  set(single MODEL NAME OUT BOARD CPU FPU IO INPUT OUTPUT ARENA DMA RECORD MONITOR MONITOR_SAMPLES WEIGHTS COPY_CONSTANTS PLACE
             SIGNATURE OPTIMIZE SELECT COST_TABLE ROUNDING MEMORY_MODEL STATE_TYPE RAM_BUDGET MAX_STEP UPDATE WEIGHTS_VERSION
             INTEGRITY CONSTANT_CHANNELS BLOCK_DATA ASSEMBLY UNALIGNED PACK_WEIGHTS KERNELS QUANTIZE RANGES PERCENTILE
             ACTIVATIONS EQUALIZE CORRECT_BIAS ROUND_WEIGHTS LEAST_SQNR IO_TYPE IO_LAYOUT)
  set(lists LIBS CONSTANTS_IN BIND STATE KERNEL_PATH BOARD_PATH CHECKOUT LAYER_TYPES)
  set(rows LIBS:list:--lib IO:word:--io INPUT:word:--input OUTPUT:word:--output ARENA:word:--arena DMA:word:--dma
           RECORD:word:--record MONITOR:word:--monitor MONITOR_SAMPLES:file:--monitor-samples WEIGHTS:word:--weights
           COPY_CONSTANTS:word:--copy-constants CONSTANTS_IN:pairs:--constants-in PLACE:file:--place BIND:pairs:--bind
           STATE:pairs:--state SIGNATURE:word:--signature KERNEL_PATH:folders:--kernel-path BOARD_PATH:folders:--board-path
           OPTIMIZE:word:--optimize SELECT:word:--select COST_TABLE:file:--cost-table ROUNDING:word:--rounding
           CHECKOUT:checkouts:--checkout MEMORY_MODEL:word:--memory-model STATE_TYPE:word:--state-type
           RAM_BUDGET:word:--ram-budget MAX_STEP:number:--max-step UPDATE:word:--update WEIGHTS_VERSION:number:--weights-version
           INTEGRITY:word:--integrity CONSTANT_CHANNELS:word:--constant-channels BLOCK_DATA:word:--block-data
           ASSEMBLY:word:--assembly UNALIGNED:word:--unaligned PACK_WEIGHTS:word:--pack-weights KERNELS:word:--kernels
           QUANTIZE:file:--quantize RANGES:word:--ranges PERCENTILE:word:--percentile ACTIVATIONS:word:--activations
           EQUALIZE:word:--equalize CORRECT_BIAS:word:--correct-bias ROUND_WEIGHTS:word:--round-weights
           LAYER_TYPES:pairs:--layer-types LEAST_SQNR:decimal:--least-sqnr IO_TYPE:word:--io-type IO_LAYOUT:word:--io-layout)
endmacro()
macro(_aidge_options_of_check)
  set(single BOARD MAP MAX_STEP_UNPROVED MAX_STACK MAX_FLASH)
  set(lists REGIONS BOARD_PATH SHARES WEIGHTS_IN DMA_ARRAYS TASK_STACKS QUIET)
  set(rows BOARD:word:--board REGIONS:pairs:--region MAP:file:--map BOARD_PATH:folders:--board-path SHARES:list:--shares
           WEIGHTS_IN:list:--weights-in DMA_ARRAYS:list:--dma-arrays TASK_STACKS:list:--task-stacks
           MAX_STEP_UNPROVED:word:--max-step-unproved QUIET:list:--quiet MAX_STACK:number:--max-stack
           MAX_FLASH:number:--max-flash)
endmacro()
macro(_aidge_options_of_accuracy)
  set(single BOARD OUT LABELS FLOAT CALIBRATION TASK LABELLED_OUTPUT SAMPLES MIN_TOP1 MAX_LOSS MIN_AUC MAX_MAE MAX_RMSE MIN_R2)
  set(lists)
  set(rows LABELS:file:--labels FLOAT:file:--float CALIBRATION:file:--calibration TASK:word:--task
           LABELLED_OUTPUT:word:--labelled-output SAMPLES:number:--samples MIN_TOP1:decimal:--min-top1
           MAX_LOSS:decimal:--max-loss MIN_AUC:decimal:--min-auc MAX_MAE:decimal:--max-mae MAX_RMSE:decimal:--max-rmse
           MIN_R2:decimal:--min-r2)
endmacro()
