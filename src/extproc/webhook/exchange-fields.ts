// The fields of a log line that tell which exchange it is about, and whose.

import type { Attributes } from '../../extauthz/cel/attributes.js'
import { type CallerFields, callerFields, hider, requestFields } from '../../kit/decision-log.js'
import { isJsonObject } from '../../model/json.js'

interface FieldsOptions {
  /** What Envoy sent with its own call. */
  readonly traceparent?: string | undefined
  /** Name of the tool, prompt or resource. */
  readonly tool?: string | undefined
  /** Names of claims to show besides those of the caller; absent: nothing of the caller is shown. */
  readonly claims?: readonly string[]
}

/** Returns the fields of a log line about an exchange. */
export function exchangeFields(
  { request, jwt }: Attributes,
  { traceparent, tool, claims }: FieldsOptions,
): object {
  const hide = hider(request ?? NO_REQUEST)
  return {
    ...(request && requestFields(request, hide, traceparent)),
    ...(tool !== undefined && { tool: hide(tool) }),
    ...(claims !== undefined && verifiedCaller({ request, jwt }, claims)),
  }
}

/** Returns the fields of the caller; undefined: no token was verified. asked: names of further claims. */
export const verifiedCaller = (
  { request, jwt }: Attributes,
  asked: readonly string[] = [],
): CallerFields | undefined =>
  isJsonObject(jwt?.json)
    ? callerFields(jwt.json, { asked, verified: true }, hider(request ?? NO_REQUEST))
    : undefined

/** A request whose headers are not known. */
export const NO_REQUEST = { headers: new Map<string, string>() }
