// Writes refusals of OAuth documents, and the answers of relays and of client registration, to the decision log.

import { type DecisionLog, hider, requestFields } from '../../decision-log.js'
import type { WellKnownEntry } from '../../ir/proc-entry.js'
import { oauthDocumentAt, relayEndpointAt } from '../../oauth/paths.js'
import type { Reply } from '../stream/immediate-response.js'
import { loggedRequest } from '../stream/logged-request.js'
import type { HeadersPart } from '../stream/process-message.js'
import { kindOf, reasonIn } from '../stream/refusal-metadata.js'

/** Answers that are logged if they deny nothing. */
const LOGGED = /^gatehouse_(relay|registration)/

/**
 * Logs only what is read from the request's head and the kind of the answer: no code, token, cookie or client name.
 * traceparent: what Envoy sent with its own call.
 */
export function logAnswer(
  log: DecisionLog,
  entry: WellKnownEntry,
  { headers }: HeadersPart,
  reply: Reply,
  traceparent?: string,
): void {
  const { route, relay, paths } = entry
  const { status } = reply
  const isDenied = reasonIn(reply) !== undefined
  if (!isDenied && !LOGGED.test(reply.details)) return
  const reason = kindOf(reply)
  const error = isDenied ? errorOf(reply) : undefined
  const fields = (): object => {
    const request = loggedRequest(headers)
    const { mcpPath } = paths
    const endpoint =
      (relay && relayEndpointAt(mcpPath, request.pathAndQuery)) ??
      oauthDocumentAt(mcpPath, request.pathAndQuery)
    return {
      ...{ decision: isDenied ? 'deny' : 'allow', reason, status },
      ...(error !== undefined && { error }),
      ...(endpoint !== undefined && { endpoint }),
      ...{ route, ...entry.policy },
      ...requestFields(request, hider(request), traceparent),
    }
  }
  if (isDenied) log.refused({ decision: 'deny', reason, status, error, route }, MESSAGE, fields)
  else log.allowed(MESSAGE, fields)
}

const MESSAGE = 'login answer'

const ERROR_CODE = /^[a-z_]{1,64}$/

/** Returns the OAuth error code of a body or of a redirect; undefined: it has none. */
function errorOf({ headers, body }: Reply): string | undefined {
  const { location } = headers
  const error =
    location === undefined
      ? /"error" ?: ?"([a-z_]{1,64})"/.exec(Buffer.from(body).toString('latin1', 0, MAX_READ))?.[1]
      : new URL(location).searchParams.get('error')
  return typeof error === 'string' && ERROR_CODE.test(error) ? error : undefined
}

/** Characters of a body in which the error code is looked for. */
const MAX_READ = 4096
