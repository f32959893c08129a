// gatehouse run: Gatehouse with an Envoy of its own, wired together.

import type { Settings } from '../settings.js'
import type { CommandIo, ExitCode } from './command-io.js'
import { runServers } from './servers.js'

export const run = (settings: Settings, io: CommandIo): Promise<ExitCode> =>
  runServers(settings, io, true)
