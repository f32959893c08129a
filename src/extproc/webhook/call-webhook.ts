// Calls a webhook, with a span of its own and the trace passed on where the stream is traced.

import { callAttributes, errorOfStatus } from '../../remote/traced-call.js'
import type { CallResult, PooledCall } from '../../remote/webhook-call.js'
import type { WebhookPools } from '../../remote/webhook-pools.js'
import { contextWithin, type Trace, type TraceSpan } from '../../tracing.js'

/** What a call needs. */
export interface WebhookCallDeps {
  readonly pools: WebhookPools
  readonly trace?: Trace | undefined
  readonly span?: TraceSpan | undefined
}

/** Calls a webhook. */
export const callWebhook = (deps: WebhookCallDeps, call: PooledCall): Promise<CallResult> =>
  deps.trace === undefined ? deps.pools.call(call) : callTraced(deps, deps.trace, call)

async function callTraced(
  { pools, span: phase }: WebhookCallDeps,
  trace: Trace,
  call: PooledCall,
): Promise<CallResult> {
  const { tracer, ...sent } = trace
  const within = phase === undefined ? sent : contextWithin(phase)
  const span = tracer.start(call.method, { ...within, kind: 'client' })
  if (span.isRecording)
    span.set({
      ...callAttributes(call.method, call.target.url),
      'gatehouse.webhook': call.backend,
      'gatehouse.phase': call.phase,
    })
  let error: string | undefined = 'unexpected'
  try {
    const headers = { ...call.headers, ...span.headers }
    const answer = await pools.call({ ...call, headers })
    if (answer.ok) span.set({ 'http.response.status_code': answer.value.status })
    error = answer.ok ? errorOfStatus(answer.value.status) : answer.error.type
    return answer
  } finally {
    span.end(error)
  }
}
