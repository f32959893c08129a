// Refuses the probes of a mesh's controller before the processor of a route sees them, and proves that the route passes
// ext_proc. ext_authz may have refused a probe already: its answer passes here, and the proof is added to it.

import { PROBE_HEADER, PROBED_HEADER } from '../ir/names.js'
import {
  NO_PROOF,
  type ProbeAnswer,
  probeAnswerText,
  type ProbeSigns,
  readProbeAnswer,
} from '../probes/probe-signs.js'
import { errorReply, immediateResponse } from './stream/immediate-response.js'
import type { HeadersPart } from './stream/process-message.js'
import type { Processor, ProcessorStream } from './stream/processor.js'

/** @param key the key of the route. */
export function withProbes(
  inner: Processor,
  stream: ProcessorStream,
  signs: ProbeSigns,
  key: string,
): Processor {
  let isRefused = false
  const refuse = ({ question, proofs }: ProbeAnswer): void => {
    isRefused = true
    const proof = signs.prove(question, 'ext_proc', [key])
    const answer = probeAnswerText({ question, proofs: { ...proofs, ext_proc: proof ?? NO_PROOF } })
    const headers: Record<string, string> = proof === undefined ? {} : { [PROBED_HEADER]: answer }
    stream.send(immediateResponse(errorReply(403, TEXTS, 'gatehouse_probe', headers)))
  }
  return {
    requestHeaders: (message, first) => {
      const question = headerOf(message, PROBE_HEADER)
      if (question === undefined) return inner.requestHeaders(message, first)
      return refuse({ question, proofs: { ext_authz: NO_PROOF, ext_proc: NO_PROOF } })
    },
    responseHeaders: (message, first) => {
      const answer = readProbeAnswer(headerOf(message, PROBED_HEADER) ?? '')
      return answer === undefined ? inner.responseHeaders(message, first) : refuse(answer)
    },
    requestBody: (message) => (isRefused ? undefined : inner.requestBody(message)),
    requestTrailers: () => (isRefused ? undefined : inner.requestTrailers()),
    responseBody: (message) => (isRefused ? undefined : inner.responseBody(message)),
    responseTrailers: () => (isRefused ? undefined : inner.responseTrailers()),
    isDone: () => isRefused || inner.isDone(),
  }
}

const TEXTS = ['forbidden', 'Forbidden: probes are never served'] as const

/** Values of a repeated header are joined: no question and no answer has a comma. */
const headerOf = ({ headers }: HeadersPart, name: string): string | undefined =>
  headers.get(name)?.join(',')
