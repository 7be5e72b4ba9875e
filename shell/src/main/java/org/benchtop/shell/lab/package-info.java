/**
 * The lab: what scripts, JShell and notebooks see of machines, as plain objects that print themselves.
 *
 * <p>{@link org.benchtop.shell.lab.Lab} is meant for static import; {@link org.benchtop.shell.lab.Vm} is a machine.
 */
@NullMarked
package org.benchtop.shell.lab;

import org.jspecify.annotations.NullMarked;
