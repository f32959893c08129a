// Settings of the C library with which the image starts Node (Dockerfile): what a load has taken is given back after it.

export const MALLOC = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '65536',
  MALLOC_TRIM_THRESHOLD_: '65536',
}
