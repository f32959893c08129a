// The explanation of one request. Its JSON form is the output of --format json; later versions only add members.

import type { Json } from '../../model/json.js'

/** How a request is answered, and why. */
export interface Explanation {
  readonly request: {
    readonly method: string
    /** Without the query, which may hold credentials. */
    readonly url: string
  }
  readonly result: ExplainedResult
  readonly answer: ExplainedAnswer
  readonly place: ExplainedPlace
  /** The policies that decide about the route, each with its source. */
  readonly policies: readonly ExplainedPolicy[]
  /** Steps in the order of the check; the last one decides. */
  readonly steps: readonly ExplainedStep[]
  /** What policies of mode Audit decide; absent: none concerns the request, or it is denied before. */
  readonly audit?: ExplainedAudit
  /** What would change a result that is not "allowed". */
  readonly changes: readonly string[]
  /** What the explanation assumes or leaves out. */
  readonly notes: readonly string[]
}

/**
 * allowed: the request reaches a backend. denied: by the check. answered: by Gatehouse itself (OAuth documents).
 * redirected: by Envoy. preflight: by Envoy's CORS filter. refused: the route refuses every request. unrouted: no
 * listener or route has it.
 */
export type ExplainedResult =
  'allowed' | 'denied' | 'answered' | 'redirected' | 'preflight' | 'refused' | 'unrouted'

/** The answer that the client gets. */
export interface ExplainedAnswer {
  /** nobody: the connection is refused or closed. */
  readonly from: 'backend' | 'Gatehouse' | 'Envoy' | 'nobody'
  /** Absent: the backend or the document decides. */
  readonly status?: number
  /** The reason in metrics and logs; absent if no check is made. */
  readonly reason?: string
  readonly headers?: readonly (readonly [name: string, value: string])[]
  readonly body?: string
  readonly text: string
}

/** The path of the request through the configuration; absent parts were not reached. */
export interface ExplainedPlace {
  /** NAMESPACE/NAME. */
  readonly gateway?: string
  readonly listener?: { readonly name: string; readonly port: number; readonly protocol: string }
  /** Domain of the virtual host. */
  readonly host?: string
  readonly route?: ExplainedRoute
}

/** The rule of an HTTPRoute. */
export interface ExplainedRoute {
  /** Envoy's name of the route, as in its access log. */
  readonly name: string
  /** NAMESPACE/NAME. */
  readonly httpRoute: string
  /** Counted from 0. */
  readonly rule: number
  /** FILE:LINE, or "kubernetes". */
  readonly source?: string
  readonly match: string
}

/** A policy of the route. */
export interface ExplainedPolicy {
  /** NAMESPACE/NAME. */
  readonly policy: string
  /** FILE:LINE, or "kubernetes". */
  readonly source: string
  /** The parts of the policy that apply. */
  readonly parts: readonly string[]
}

/** A step of the decision. */
export interface ExplainedStep {
  readonly name: string
  readonly result: 'passed' | 'failed' | 'noted'
  readonly text: string
  /** Values that were read, by name. */
  readonly read?: Readonly<Record<string, Json>>
}

/** The decision of policies of mode Audit, which changes nothing. */
export interface ExplainedAudit {
  readonly decision: 'allow' | 'deny'
  readonly reason: string
  /** The status that the client would get. */
  readonly status?: number
  readonly steps: readonly ExplainedStep[]
  readonly changes: readonly string[]
}
