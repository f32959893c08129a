// Access to the process that main.ts gives to a command: outputs, logger and stop signal.

import type { Logger } from '../../kit/logger.js'

/** The outputs, logger and stop signal of a command. */
export interface CommandIo {
  /** Writes to stdout; only for results. */
  readonly out: (text: string) => void
  /** Writes to stderr: what is wrong, for a person. */
  readonly err: (text: string) => void
  /** Size of the terminal that stdout is; absent: stdout is none. */
  readonly terminal?: { readonly columns: number; readonly rows: number } | undefined
  readonly logger: Logger
  /** Aborted by the first SIGINT, SIGTERM or SIGHUP. */
  readonly stop: AbortSignal
  /** Registers a synchronous callback for the end of the process, which runs at any end except SIGKILL. */
  readonly atExit: (callback: () => void) => void
}

/** Exit code: 0 fine, 1 the input is wrong or something failed, 2 the usage is wrong. */
export type ExitCode = 0 | 1 | 2
