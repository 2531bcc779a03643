# SPDX-License-Identifier: MIT
"""Chips as their makers describe them: a CMSIS pack with the levels that real ones have, and a whole devicetree."""

# The levels of a real pack: what the family says counts for all, what the device says overrules it.
PACK = """<?xml version="1.0" encoding="utf-8"?>
<package schemaVersion="1.7" xmlns:xs="http://www.w3.org/2001/XMLSchema-instance" xs:noNamespaceSchemaLocation="PACK.xsd">
 <vendor>Maker</vendor><name>Chips_DFP</name>
 <devices>
  <family Dfamily="Chips" Dvendor="Maker:1">
   <processor Dcore="Cortex-M4" DcoreVersion="r0p1" Dfpu="SP_FPU" Dmpu="MPU" Dendian="Little-endian" Dclock="100000000"/>
   <subFamily DsubFamily="Chips1">
    <processor Dclock="168000000"/>
    <memory id="IROM1" start="0x08000000" size="0x00040000" startup="1" default="1"/>
    <memory id="IRAM1" start="0x20000000" size="0x0001C000" init="0" default="1"/>
    <device Dname="CHIP407VG">
     <memory id="IROM1" start="0x08000000" size="0x00100000" startup="1" default="1"/>
     <memory name="IRAM9" access="rwx" start="0x2001C000" size="0x4000" default="1"/>
     <memory id="IRAM2" start="0x10000000" size="0x00010000" init="0" default="0"/>
    </device>
    <device Dname="CHIP401">
     <processor Dfpu="0"/>
     <variant Dvariant="CHIP401RC"/>
     <variant Dvariant="CHIP401RE"><memory id="IROM1" start="0x08000000" size="0x00080000" startup="1" default="1"/></variant>
    </device>
   </subFamily>
   <device Dname="CHIP0">
    <processor Dcore="Cortex-M0+" Dfpu="NO_FPU" Dclock="48000000"/>
    <memory name="BootROM" access="rx" start="0x1FFF0000" size="0x8000" default="0"/>
    <memory name="Flash-A" access="rx" start="0x0" size="0x8000" default="1" startup="1"/>
    <memory name="Flash-B" access="rx" start="0x8000" size="0x8000" default="1"/>
    <memory name="SRAM" access="rwx" start="0x20000000" size="0x2000" default="1"/>
    <memory name="Registers" access="rwp" start="0x40000000" size="0x10000"/>
    <memory name="SRAM_S" access="rwxs" start="0x30000000" size="0x2000" alias="SRAM"/>
   </device>
   <device Dname="CHIP7">
    <processor Dcore="Cortex-M7" Dfpu="SP_FPU"/>
    <memory id="IROM1" start="0x0" size="0x20000" startup="1" default="1"/>
    <memory id="IRAM1" start="0x20000000" size="0x10000" default="1"/>
   </device>
   <device Dname="CHIP33">
    <processor Dcore="Cortex-M33" Dfpu="NO_FPU" Ddsp="NO_DSP"/>
    <memory id="IROM1" start="0x0" size="0x20000" startup="1" default="1"/>
    <memory id="IRAM1" start="0x20000000" size="0x10000" default="1"/>
   </device>
  </family>
  <family Dfamily="Pairs" Dvendor="Maker:1">
   <device Dname="PAIR7">
    <processor Pname="CM7" Dcore="Cortex-M7" Dfpu="DP_FPU" Dclock="480000000"/>
    <processor Pname="CM4" Dcore="Cortex-M4" Dfpu="SP_FPU" Dclock="240000000"/>
    <memory name="Flash" access="rx" start="0x08000000" size="0x100000" default="1" startup="1"/>
    <memory name="AXI" access="rwx" start="0x24000000" size="0x80000" default="1"/>
    <memory name="DTCM" access="rwx" start="0x20000000" size="0x20000" default="0" Pname="CM7"/>
    <memory name="D2" access="rwx" start="0x10000000" size="0x40000" default="1" Pname="CM4"/>
   </device>
  </family>
 </devices>
</package>
"""
TREE = """/dts-v1/;
/ {
	#address-cells = <0x1>;
	#size-cells = <0x1>;
	model = "Maker \\"One\\" board";
	compatible = "maker,one";
	chosen { zephyr,sram = &sram0; zephyr,flash = &flash0; };
	cpus {
		#address-cells = <0x1>;
		#size-cells = <0x0>;
		cpu@0 { device_type = "cpu"; compatible = "arm,cortex-m4f"; clock-frequency = <64000000>; reg = <0x0>; };
	};
	soc {
		#address-cells = <0x1>;
		#size-cells = <0x1>;
		ranges = <0x0 0x10000000 0x1000000>;
		controller@4001e000 {
			compatible = "maker,flash-controller";
			reg = <0x4001e000 0x1000>;
			#address-cells = <0x1>;
			#size-cells = <0x1>;
			flash0: flash@0 { compatible = "soc-nv-flash"; reg = <0x0 ((1024) * 1024)>; };
		};
		spare: memory@20040000 { compatible = "mmio-sram"; reg = <0x20040000 0x10000>; };
		absent: memory@30000000 { compatible = "mmio-sram"; reg = <0x30000000 0x10000>; status = "disabled"; };
	};
	sram0: memory@20000000 { compatible = "mmio-sram"; reg = <0x20000000 0x40000>; };
};
"""
