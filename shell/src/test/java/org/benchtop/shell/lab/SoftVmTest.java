package org.benchtop.shell.lab;

/** The lab on the CPU in Java. */
class SoftVmTest extends VmContract {
    SoftVmTest() {
        super("soft");
    }
}
