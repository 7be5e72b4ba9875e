/** The CPU engine {@code kvm}: guest code runs on the host's CPU through /dev/kvm. */
@NullMarked
package org.benchtop.engine.kvm;

import org.jspecify.annotations.NullMarked;
