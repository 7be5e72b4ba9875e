/** MMX, SSE to SSE4.2, AES, PCLMULQDQ and AVX/AVX2. */
@NullMarked
package org.benchtop.softcpu.simd;

import org.jspecify.annotations.NullMarked;
