/** Tests of the lab. */
@NullMarked
package org.benchtop.shell.lab;

import org.jspecify.annotations.NullMarked;
