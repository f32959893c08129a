// Asks webhooks of mode Audit about copies of one exchange with an MCP server (decision 25m).

import { createAudit } from '../guard/guard-audit.js'
import type { Processor, ProcessorStream } from '../session/processor.js'
import type { GuardDeps } from '../webhook/guard-deps.js'
import type { McpGuardAudit } from './mcp-guard.js'
import { createMcpGuardProcessor } from './mcp-guard-processor.js'

/** Creates the processor of an audited exchange with an MCP server. lingerMs: as in createGuardAudit(). */
export const createMcpGuardAudit = (
  entry: McpGuardAudit,
  stream: ProcessorStream,
  deps: GuardDeps,
  lingerMs?: number,
): Processor =>
  createAudit(
    {
      route: entry.route,
      create: (copies, own) => repliesAfterRequest(entry, copies, own),
    },
    stream,
    deps,
    lingerMs,
  )

/**
 * Delays the reply until the request was read: it says which calls the reply answers. Where the guard is in force, the
 * server gets the request later than that.
 */
function repliesAfterRequest(
  entry: McpGuardAudit,
  copies: ProcessorStream,
  deps: GuardDeps,
): Processor {
  let read = (): void => undefined
  let untilRead: Promise<void> | undefined = new Promise((resolve) => (read = resolve))
  const whenRead = (): void => {
    untilRead = undefined
    read()
  }
  copies.signal.addEventListener('abort', whenRead)
  const guard = createMcpGuardProcessor({ ...entry, type: 'mcp-guard' }, copies, deps, whenRead)
  const last = async (work: Promise<void> | void): Promise<void> => {
    await work
    whenRead()
  }
  return {
    ...guard,
    requestHeaders: (message, first) => {
      const work = guard.requestHeaders(message, first)
      return message.endOfStream ? last(work) : work
    },
    requestBody: (message) => {
      const work = guard.requestBody(message)
      return message.endOfStream ? last(work) : work
    },
    requestTrailers: () => last(guard.requestTrailers()),
    responseHeaders: async (message, first) => {
      await untilRead
      if (!copies.signal.aborted) await guard.responseHeaders(message, first)
    },
  }
}
