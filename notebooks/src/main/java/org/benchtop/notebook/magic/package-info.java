/** The lab in notebooks: what cells find when they start, and its magics. */
@NullMarked
package org.benchtop.notebook.magic;

import org.jspecify.annotations.NullMarked;
