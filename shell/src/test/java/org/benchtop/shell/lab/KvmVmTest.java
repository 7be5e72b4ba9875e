package org.benchtop.shell.lab;

/** The lab on KVM. */
class KvmVmTest extends VmContract {
    KvmVmTest() {
        super("kvm");
    }
}
