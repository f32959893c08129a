// The API server that the files of a worker use one after the other: to start one takes longer than most of them.

import {
  type ApiServer,
  type ApiServerOptions,
  startApiServer,
} from '../../../testing/api-server.js'
import { endWithTheTests } from '../../support/shared-processes.js'
import { cleanSlate } from './clean-slate.js'

interface Shared {
  readonly api: ApiServer
  /** Takes away what its last user has left. */
  readonly clean: () => Promise<void>
}

/** Absent for an API server that others have used and will use. */
interface Own extends ApiServerOptions {
  /** For tests that stop it, compact its history or change its CRDs. */
  readonly own: true
}

let shared: Shared | undefined
let isClean = false

/** Resolves to an API server without any object of other tests. close() gives it back, and rejects if it cannot be cleaned. */
export async function apiServerFor(options?: Own): Promise<ApiServer> {
  if (options !== undefined) return startApiServer(options)
  // Who has failed to give it back has failed already.
  if (!isClean) await cleaned().catch(() => undefined)
  shared ??= await startShared()
  isClean = false
  const refuse = (): never => {
    throw new Error('other files use this API server too: start one with { own: true }')
  }
  return { ...shared.api, compact: refuse, stop: refuse, start: refuse, close: cleaned }
}

/** One that cannot be cleaned is ended, and the next user gets a new one. */
async function cleaned(): Promise<void> {
  const last = shared
  shared = undefined
  try {
    await last?.clean()
    shared = last
    isClean = true
  } catch (error) {
    await last?.api.close()
    throw error
  }
}

/** It ends with this worker, or at the latest when all tests have run (global-setup.ts). */
async function startShared(): Promise<Shared> {
  const api = await startApiServer()
  for (const id of api.unref()) await endWithTheTests(id, api.folder)
  return { api, clean: await cleanSlate(api) }
}
