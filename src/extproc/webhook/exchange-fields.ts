// The fields of a log line that tell which exchange it is about, and whose.

import type { Attributes } from '../../cel/attributes.js'
import { callerFields, hider, requestFields } from '../../decision-log.js'
import { isJsonObject } from '../../ir/json.js'

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
    ...(claims !== undefined &&
      isJsonObject(jwt?.json) &&
      callerFields(jwt.json, { asked: claims, verified: true }, hide)),
  }
}

/** A request whose headers are not known. */
export const NO_REQUEST = { headers: new Map<string, string>() }
