// Creates the ext_proc service for guards alone: whoever else is called does not answer.

import { createProcessService } from '../../../src/extproc/process-service.js'
import type { GuardDeps } from '../../../src/extproc/webhook/guard-deps.js'
import type { GuardEntry } from '../../../src/model/proc-entry.js'
import type { GrpcService } from '../../../src/wire/grpc/service.js'
import { buildProcTable } from './proc-table.js'
import { silent } from './stream.js'

export function guardService(
  entries: readonly GuardEntry[],
  guardrails: Omit<GuardDeps, 'now' | 'logger'>,
): GrpcService {
  const table = buildProcTable([...entries])
  return createProcessService({
    table: () => table,
    callRemote: () => Promise.resolve({ ok: false, error: { type: 'aborted' } }),
    guardrails,
    now: () => 0,
    logger: silent,
  })
}
