// gatehouse serve: Gatehouse alone, for Envoys that run elsewhere.

import type { Settings } from '../settings.js'
import type { CommandIo, ExitCode } from './command-io.js'
import { runServers } from './servers.js'

export const serve = (settings: Settings, io: CommandIo): Promise<ExitCode> =>
  runServers(settings, io, false)
