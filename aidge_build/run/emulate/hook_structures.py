# SPDX-License-Identifier: MIT
"""The structures of counting.h, executed.h and unicorn_hook.c, as ctypes has them."""

from __future__ import annotations

import ctypes


class LayerCounts(ctypes.Structure):
    """`struct layer`."""

    _fields_ = [
        ("address", ctypes.c_uint32),
        ("turn", ctypes.c_uint32),
        ("instructions", ctypes.c_uint64),
        ("longest_step", ctypes.c_uint64),
        ("finished", ctypes.c_uint64),
    ]


class CountingState(ctypes.Structure):
    """`struct counting`."""

    _fields_ = [
        ("total", ctypes.c_uint64),
        ("inside_run", ctypes.c_uint64),
        ("limit", ctypes.c_uint64),
        ("before_main", ctypes.c_uint64),
        ("step_instructions", ctypes.c_uint64),
        ("longest_step", ctypes.c_uint64),
        ("finished", ctypes.c_uint64),
        ("at_entry", ctypes.c_uint64),
        ("fewest", ctypes.c_uint64),
        ("most", ctypes.c_uint64),
        ("run_address", ctypes.c_uint32),
        ("main_address", ctypes.c_uint32),
        ("step_address", ctypes.c_uint32),
        ("until_address", ctypes.c_uint32),
        ("runs", ctypes.c_uint32),
        ("return_address", ctypes.c_uint32),
        ("running", ctypes.c_uint32),
        ("endless_loop", ctypes.c_uint32),
        ("over_limit", ctypes.c_uint32),
        ("steps", ctypes.c_uint32),
        ("step_return", ctypes.c_uint32),
        ("stepping", ctypes.c_uint32),
        ("finished_runs", ctypes.c_uint32),
        ("wanted_runs", ctypes.c_uint32),
        ("reached", ctypes.c_uint32),
        ("asked", ctypes.c_uint32),
        ("entry_stack", ctypes.c_uint32),
        ("lowest_stack", ctypes.c_uint32),
        ("stack_used", ctypes.c_uint32),
        ("current", ctypes.c_int32),
        ("step_layer", ctypes.c_int32),
        ("layer_count", ctypes.c_uint32),
        ("layers", ctypes.POINTER(LayerCounts)),
    ]


class Block(ctypes.Structure):
    """`struct block`."""

    _fields_ = [
        ("size", ctypes.c_uint16),
        ("instructions", ctypes.c_uint16),
        ("layer", ctypes.c_int32),
    ]


class Memory(ctypes.Structure):
    """`struct memory`."""

    _fields_ = [
        ("origin", ctypes.c_uint32),
        ("length", ctypes.c_uint32),
        ("is_flash", ctypes.c_uint32),
        ("bytes", ctypes.c_void_p),
        ("blocks", ctypes.c_void_p),
    ]


class EdgeCounts(ctypes.Structure):
    """`struct edge`."""

    _fields_ = [
        ("origin", ctypes.c_uint32),
        ("address", ctypes.c_uint32),
        ("from_size", ctypes.c_uint16),
        ("size", ctypes.c_uint16),
        ("layer", ctypes.c_int32),
        ("count", ctypes.c_uint64),
        ("finished", ctypes.c_uint64),
    ]


class ExecutedState(ctypes.Structure):
    """`struct executed`."""

    _fields_ = [
        ("count", ctypes.c_uint32),
        ("is_full", ctypes.c_uint32),
        ("previous", ctypes.c_uint32),
        ("previous_size", ctypes.c_uint32),
        ("edges", ctypes.c_void_p),
        ("slots", ctypes.c_void_p),
    ]


class CacheState(ctypes.Structure):
    """`struct cache`."""

    _fields_ = [
        ("line_bytes", ctypes.c_uint32),
        ("sets", ctypes.c_uint32),
        ("ways", ctypes.c_uint32),
        ("lines", ctypes.POINTER(ctypes.c_uint32)),
    ]


class Reads(ctypes.Structure):
    """`struct reads`."""

    _fields_ = [
        ("code", CacheState),
        ("data", CacheState),
        ("prefetches", ctypes.c_uint32),
        ("line", ctypes.c_uint32),
        ("ahead", ctypes.c_uint32),
        ("since", ctypes.c_uint32),
        ("waited", ctypes.POINTER(ctypes.c_uint64)),
        ("data_lines", ctypes.POINTER(ctypes.c_uint64)),
        ("finished_waited", ctypes.POINTER(ctypes.c_uint64)),
        ("finished_data_lines", ctypes.POINTER(ctypes.c_uint64)),
    ]


class Pieces(ctypes.Structure):
    """`struct pieces`."""

    _fields_ = [
        ("count", ctypes.c_uint32),
        ("begins", ctypes.POINTER(ctypes.c_uint32)),
        ("waited", ctypes.POINTER(ctypes.c_uint64)),
        ("data_lines", ctypes.POINTER(ctypes.c_uint64)),
        ("data_bytes", ctypes.POINTER(ctypes.c_uint64)),
    ]


LOOK = ctypes.CFUNCTYPE(None, ctypes.c_uint32)


class Hook(ctypes.Structure):
    """`struct hook`."""

    _fields_ = [
        ("counting", CountingState),
        ("executed", ExecutedState),
        ("reads", ctypes.POINTER(Reads)),
        ("pieces", Pieces),
        ("read_count", ctypes.c_uint32),
        ("counts_edges", ctypes.c_uint32),
        ("finished_runs", ctypes.c_uint32),
        ("memory_count", ctypes.c_uint32),
        ("link_register", ctypes.c_uint32),
        ("stack_register", ctypes.c_uint32),
        ("memories", ctypes.POINTER(Memory)),
        ("read_register", ctypes.c_void_p),
        ("stop", ctypes.c_void_p),
        ("look_at", ctypes.c_uint64),
        ("look", LOOK),
    ]


class Watch(ctypes.Structure):
    """`struct watch`."""

    _fields_ = [
        ("counting", ctypes.c_void_p),
        ("origin", ctypes.c_uint32),
        ("length", ctypes.c_uint32),
        ("written", ctypes.c_void_p),
    ]
