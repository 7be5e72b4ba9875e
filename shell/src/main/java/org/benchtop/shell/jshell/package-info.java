/**
 * JShell inside Benchtop's own process: cells run beside the machines they talk to, and can be stopped.
 */
@NullMarked
package org.benchtop.shell.jshell;

import org.jspecify.annotations.NullMarked;
