// The Envoy binary for the tests, found (or installed) once by global-setup.ts.

import { inject } from 'vitest'

export const envoyPath = (): string => inject('envoyPath')

declare module 'vitest' {
  export interface ProvidedContext {
    /** Path of the Envoy binary. */
    envoyPath: string
    /** Path of a Python interpreter that has the packages of python/requirements.txt. */
    python: string
    /** Folder with a file for each process that files share (shared-processes.ts), by its id, which has the path of its folder. */
    sharedProcesses: string
    /** Whether the files of a worker share stacks; absent: no. */
    sharesStacks?: boolean
  }
}
