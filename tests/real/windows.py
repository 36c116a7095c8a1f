"""Do dpnp's window functions give NumPy's numbers? Prints the seconds that the first call took. Libraries named are loaded first."""

import ctypes
import sys
import time

import dpnp
import numpy

for library in sys.argv[1:]:
    ctypes.CDLL(library)
print("dpnp", dpnp.__file__)
queue = dpnp.empty(1).sycl_queue
begin = time.perf_counter()
dpnp.bartlett(16, sycl_queue=queue).asnumpy()
print("first_call", time.perf_counter() - begin)
for name in ("bartlett", "blackman", "hamming", "hanning"):
    got = getattr(dpnp, name)(33).asnumpy()
    numpy.testing.assert_allclose(got, getattr(numpy, name)(33), rtol=1e-6, atol=1e-7)
numpy.testing.assert_allclose(dpnp.kaiser(33, 5.0).asnumpy(), numpy.kaiser(33, 5.0), rtol=1e-6, atol=1e-7)
print("correct")
