// SPDX-License-Identifier: MIT
// Hazard3 with the settings of the RP2350, and both of its buses.
module top (
    input clk, rst_n,
    output [31:0] i_haddr, output [1:0] i_htrans, input [31:0] i_hrdata,
    output [31:0] d_haddr, output d_hwrite, output [1:0] d_htrans, output [2:0] d_hsize,
    output [31:0] d_hwdata, input [31:0] d_hrdata
);
wire power;
hazard3_cpu_2port #(
    .RESET_VECTOR(32'h80000000), .EXTENSION_ZBA(1), .EXTENSION_ZBB(1), .EXTENSION_ZBS(1), .EXTENSION_ZBKB(1),
    .EXTENSION_ZCB(1), .EXTENSION_ZCMP(1), .EXTENSION_ZIFENCEI(1), .CSR_COUNTER(1), .U_MODE(1),
    .MULDIV_UNROLL(2), .MUL_FAST(1), .MUL_FASTER(1), .MULH_FAST(1), .FAST_BRANCHCMP(1), .BRANCH_PREDICTOR(1)
) cpu (
    .clk(clk), .clk_always_on(clk), .rst_n(rst_n), .pwrup_req(power), .pwrup_ack(power), .unblock_in(1'b0),
    .i_haddr(i_haddr), .i_htrans(i_htrans), .i_hready(1'b1), .i_hresp(1'b0), .i_hrdata(i_hrdata),
    .d_haddr(d_haddr), .d_hwrite(d_hwrite), .d_htrans(d_htrans), .d_hsize(d_hsize), .d_hready(1'b1), .d_hresp(1'b0),
    .d_hexokay(1'b1), .d_hwdata(d_hwdata), .d_hrdata(d_hrdata), .dbg_req_halt(1'b0), .dbg_req_halt_on_reset(1'b0),
    .dbg_req_resume(1'b0), .dbg_data0_rdata(32'h0), .dbg_instr_data(32'h0), .dbg_instr_data_vld(1'b0),
    .dbg_sbus_addr(32'h0), .dbg_sbus_write(1'b0), .dbg_sbus_size(2'h0), .dbg_sbus_vld(1'b0), .dbg_sbus_wdata(32'h0),
    .irq(1'b0), .soft_irq(1'b0), .timer_irq(1'b0)
);
endmodule
