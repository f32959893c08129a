// Writes the reason of a refusal into Envoy's dynamic metadata, for access logs: ext_authz's reasons have the same key.

import { CLAIMS_NAMESPACE, REASON_KEY } from '../../model/names.js'
import type { BackwardWriter } from '../../wire/grpc/backward-writer.js'

interface Answer {
  readonly status: number
  readonly details: string
}

/** The reason of a text that a webhook rejected, also where its error for the client has no code. */
export const REJECTED = 'content_filter'

const REJECT = 'gatehouse_guardrail_reject'
/** Answers below 400 that refuse something: an error redirect, and the result of a rejected MCP call. */
const REFUSING = ['gatehouse_relay_error', REJECT]

/** Returns the kind of an answer of Gatehouse, as lines of the decision log name it. */
export const kindOf = ({ details }: Pick<Answer, 'details'>): string =>
  details === REJECT ? REJECTED : details.replace('gatehouse_', '')

/** Returns the reason of an answer that refuses something; undefined: it refuses nothing. */
export const reasonIn = (reply: Answer): string | undefined =>
  reply.status >= 400 || REFUSING.includes(reply.details) ? kindOf(reply) : undefined

/**
 * ProcessingResponse: dynamic_metadata 8, a google.protobuf.Struct of namespaces. Struct: fields 1, each an entry
 * { key 1, value 2 }; Value: string 3, struct 5.
 */
export function writeReason(reason: string, writer: BackwardWriter): void {
  const all = writer.mark()
  writer.text(3, reason)
  writer.end(2, all)
  writer.text(1, REASON_KEY)
  writer.end(1, all)
  writer.end(5, all)
  writer.end(2, all)
  writer.text(1, CLAIMS_NAMESPACE)
  writer.end(1, all)
  writer.end(8, all)
}
