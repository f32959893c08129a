// gatehouse demo: a whole local stack on loopback.

import type { Settings } from '../settings.js'
import type { CommandIo, ExitCode } from './command-io.js'

export function demo(_settings: Settings, io: CommandIo): Promise<ExitCode> {
  io.err('gatehouse: demo is not there yet in this version\n')
  return Promise.resolve(2)
}
