/** Disks behind a URL: {@code type: http}. */
@NullMarked
package org.benchtop.block.http;

import org.jspecify.annotations.NullMarked;
