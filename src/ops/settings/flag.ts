// Describes a flag of the command line: how its value is read, its default and the commands that take it.

import type { CommandName } from './commands.js'
import { readSwitch, type ReadValue } from './values.js'

/** D: type of the default as written, or undefined; M: whether the flag may be given more than once. */
export interface Flag<T, D extends string | undefined, M extends boolean> {
  /** Placeholder of the value in help texts; absent for a switch. */
  readonly value?: string
  readonly read: ReadValue<T>
  readonly default: D
  readonly many: M
  readonly commands: readonly CommandName[]
  /** Line of the help text; includes the default if it is not a plain value. */
  readonly meaning: string
}

interface Description {
  readonly value: string
  readonly commands: readonly CommandName[]
  readonly meaning: string
}

/** Creates a flag without a default that may be given once. */
export const one = <T>(read: ReadValue<T>, about: Description): Flag<T, undefined, false> => ({
  ...about,
  read,
  default: undefined,
  many: false,
})

/** Creates a flag with a default, which is written like a value. */
export const oneOr = <T>(
  read: ReadValue<T>,
  preset: string,
  about: Description,
): Flag<T, string, false> => ({ ...about, read, default: preset, many: false })

/** Creates a flag that may be given more than once. */
export const many = <T>(read: ReadValue<T>, about: Description): Flag<T, undefined, true> => ({
  ...about,
  read,
  default: undefined,
  many: true,
})

/** Creates a switch, off by default. */
export const onOff = (about: Omit<Description, 'value'>): Flag<boolean, string, false> => ({
  ...about,
  read: readSwitch,
  default: 'false',
  many: false,
})
