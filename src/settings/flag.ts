// What a flag of the command line is: how its text is read, its default, which commands take it.

import type { CommandName } from './commands.js'
import { readSwitch, type ReadValue } from './values.js'

/** D: the default as it is written, or undefined; M: whether the flag may be given more than once. */
export interface Flag<T, D extends string | undefined, M extends boolean> {
  /** The placeholder of its value in help texts; absent: a switch. */
  readonly value?: string
  readonly read: ReadValue<T>
  readonly default: D
  readonly many: M
  readonly commands: readonly CommandName[]
  /** One line for a person; says the default where it is not a plain value. */
  readonly meaning: string
}

interface Description {
  readonly value: string
  readonly commands: readonly CommandName[]
  readonly meaning: string
}

/** It is given once, or not at all. */
export const one = <T>(read: ReadValue<T>, about: Description): Flag<T, undefined, false> => ({
  ...about,
  read,
  default: undefined,
  many: false,
})

/** It has a default, as it would be written. */
export const oneOr = <T>(
  read: ReadValue<T>,
  preset: string,
  about: Description,
): Flag<T, string, false> => ({ ...about, read, default: preset, many: false })

/** It may be given more than once. */
export const many = <T>(read: ReadValue<T>, about: Description): Flag<T, undefined, true> => ({
  ...about,
  read,
  default: undefined,
  many: true,
})

/** A switch; off by default. */
export const onOff = (about: Omit<Description, 'value'>): Flag<boolean, string, false> => ({
  ...about,
  read: readSwitch,
  default: 'false',
  many: false,
})
