/** Tests of whole machines and of the project's structure. */
@NullMarked
package org.benchtop.system;

import org.jspecify.annotations.NullMarked;
