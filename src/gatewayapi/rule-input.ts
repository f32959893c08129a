// What the translation of one rule of an HTTPRoute starts from.

import { routeKey } from '../ir/names.js'
import type { GuardEntry } from '../ir/proc-entry.js'
import type { HttpRouteRule, HttpRouteSpec } from '../resources/http-route.js'
import type { Resource } from '../resources/resources.js'
import type { Attachment } from './attachments.js'

export type HttpRoute = Resource<HttpRouteSpec>

export interface RuleInput {
  readonly route: HttpRoute
  readonly index: number
  readonly rule: HttpRouteRule
  readonly attachment: Attachment
  /** Why the whole route refuses; empty: it does not. */
  readonly refusals: readonly string[]
  /** Absent: LLM traffic is not guarded. */
  readonly webhooks?: Pick<GuardEntry, 'request' | 'response'>
}

/** The key of both tables for this rule. */
export const keyOfRule = ({ route, index }: RuleInput): string =>
  routeKey(route.metadata.namespace, route.metadata.name, index)
