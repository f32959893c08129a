// Has V8 make all objects in the young generation of the heap, where those of a request die cheaply.

import { setFlagsFromString } from 'node:v8'

/**
 * Turns V8's pretenuring of allocation sites off. With it, V8 makes objects in the old generation where most that were made
 * at the same place of the code lived long for a while, and goes on when they no longer do: after a burst of streams, full
 * collections up to three times a second made the CPU of a guarded chat 1.3 to 1.9 times that of a no-op, instead of 0.8 to 1.3.
 */
export const allocateYoung = (): void => setFlagsFromString('--no-allocation-site-pretenuring')
