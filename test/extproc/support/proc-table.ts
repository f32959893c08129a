// Builds a table of ext_proc at once, where the program builds it in slices.

import { type ProcTable, procTableWork } from '../../../src/extproc/proc-table.js'
import { atOnce } from '../../../src/kit/turns.js'

export const buildProcTable = (...inputs: Parameters<typeof procTableWork>): ProcTable =>
  atOnce(procTableWork(...inputs))
