// Refuses the probes of a mesh's controller, which no backend may see, and proves that the route asks Gatehouse. A
// made-up probe is refused too, without a proof.

import type { AuthzEntry } from '../ir/authz-entry.js'
import { PROBE_HEADER, PROBED_HEADER } from '../ir/names.js'
import { aboutRequest, NO_PROOF, probeAnswerText, type ProbeSigns } from '../probes/probe-signs.js'
import { type CheckEnvelope, readCheckRequest } from './check-request.js'
import { type Refusal, refuseProbe } from './decision.js'
import { HeaderNames } from './header-names.js'

/** The refusal of a probe. */
export interface ProbeRefusal {
  readonly refusal: Refusal
  /** Whether the probe is a replica's own. */
  readonly isOwn: boolean
}

const NAMES = new HeaderNames([PROBE_HEADER])

/**
 * Returns undefined for a request that is no probe. isAudited: the route proves nothing here, but a guard behind adds its own
 * proof to the answer. @throws RangeError when the message is malformed.
 */
export function probeRefusal(
  signs: ProbeSigns,
  envelope: CheckEnvelope,
  { key, isAudited }: Pick<AuthzEntry, 'key' | 'isAudited'>,
): ProbeRefusal | undefined {
  // Most requests have the name nowhere: looking for it costs less than reading headers.
  if (!envelope.reader.buffer.includes(PROBE_HEADER)) return undefined
  const { headers, host, path } = readCheckRequest(envelope, NAMES)
  const value = headers.get(PROBE_HEADER)
  if (value === undefined) return undefined
  const question = typeof value === 'string' ? value : ''
  const proof = signs.prove(question, 'ext_authz', aboutRequest(key, host, path))
  if (proof === undefined) return { refusal: refuseProbe(), isOwn: false }
  const proofs = { ext_authz: isAudited === true ? NO_PROOF : proof, ext_proc: NO_PROOF }
  const answer = probeAnswerText({ question, proofs })
  return { refusal: refuseProbe([PROBED_HEADER, answer]), isOwn: true }
}
