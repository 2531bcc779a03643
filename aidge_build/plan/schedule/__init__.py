# SPDX-License-Identifier: MIT
"""The order of execution and the lifetimes of tensors.

The way through the room: `schedule.make_schedule` asks `sharing` what kernels allow, states it as a `question`, lets `order`
(with `order_bound`) answer it, and lets `in_place` join the buffers that reuse each other's bytes.
"""
