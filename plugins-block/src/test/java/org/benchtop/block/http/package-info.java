@NullMarked
package org.benchtop.block.http;

import org.jspecify.annotations.NullMarked;
