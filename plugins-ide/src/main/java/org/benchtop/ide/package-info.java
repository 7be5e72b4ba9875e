/** IDE and AHCI controllers and their drives. */
@NullMarked
package org.benchtop.ide;

import org.jspecify.annotations.NullMarked;
