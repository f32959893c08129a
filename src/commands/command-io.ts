// What main.ts lends a command of the process: its outputs, its logger and the wish to stop.

import type { Logger } from '../logger.js'

export interface CommandIo {
  /** stdout: results only. */
  readonly out: (text: string) => void
  /** stderr: what is wrong, for a person. */
  readonly err: (text: string) => void
  readonly logger: Logger
  /** Aborted by the first SIGINT, SIGTERM or SIGHUP. */
  readonly stop: AbortSignal
  /** Called when the process ends, however suddenly but by SIGKILL; must do its work at once. */
  readonly atExit: (callback: () => void) => void
}

/** Exit code: 0 fine, 1 the input is wrong or something failed, 2 the usage is wrong. */
export type ExitCode = 0 | 1 | 2
