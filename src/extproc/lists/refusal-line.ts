// Writes a line of the decision log about a list of an MCP server that its caller does not get.

import type { Attributes } from '../../cel/attributes.js'
import { callerFields, type DecisionLog, hider, requestFields } from '../../decision-log.js'
import { isJsonObject } from '../../ir/json.js'
import type { PolicySource } from '../../ir/policy-source.js'
import { loggedRequest } from '../stream/logged-request.js'
import type { Headers } from '../stream/process-message.js'

const MESSAGE = 'list refusal'

/** A list that is withheld. */
export interface RefusedList {
  /** NAMESPACE/NAME of the HTTPRoute. */
  readonly route: string
  /** The policy that filters lists. */
  readonly policy?: PolicySource | undefined
  /** Headers of the request. */
  readonly headers: Headers
  /** The caller's claims, if a token was verified. */
  readonly jwt: Attributes['jwt']
  /** What Envoy sent with its own call. */
  readonly traceparent?: string | undefined
  readonly reason: string
  /** Absent: the status of the reply has been sent already. */
  readonly status?: number
  /** Without any text of the list. */
  readonly problem: string
}

/** Logs a list that its caller does not get. */
export function logRefusedList(log: DecisionLog, refused: RefusedList): void {
  const { route, policy, jwt, reason, status, problem } = refused
  const key = { decision: 'deny', reason, status, route }
  log.refused(key, MESSAGE, () => {
    const request = loggedRequest(refused.headers)
    const hide = hider(request)
    const claims = jwt?.json
    return {
      ...{ decision: 'deny', reason },
      ...(status !== undefined && { status }),
      ...{ route, problem, ...policy },
      ...requestFields(request, hide, refused.traceparent),
      ...(isJsonObject(claims) &&
        callerFields(claims, { asked: log.claims, verified: true }, hide)),
    }
  })
}
