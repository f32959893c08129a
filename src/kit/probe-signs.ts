// Signs the questions and answers of probes: requests by which the controller of a mesh finds out whether an Envoy asks
// Gatehouse about a route. Replicas share the secret, so each can answer what another has asked.

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/** The server that proves that it was asked. */
export type ProbeRole = 'ext_authz' | 'ext_proc'

/** Signs and checks probes. */
export interface ProbeSigns {
  /** Returns a new question; undefined: the secret is not known yet. */
  ask(): string | undefined
  /**
   * Returns the proof that a server was asked this question about something; undefined: the question is made up, or older
   * than a minute, or the secret is not known yet.
   */
  prove(question: string, role: ProbeRole, about: readonly string[]): string | undefined
}

/** How long a question is valid, in milliseconds; replicas may differ by as much in their time. */
const LASTS_MS = 60_000
/** 16 random bytes and 32 bytes of HMAC, in base64url. */
const QUESTION = /^([0-9a-z]{1,12}\.[\w-]{22})\.([\w-]{43})$/

/**
 * Creates the signs.
 * @param secret the secret of all replicas; undefined: not known yet.
 * @param now milliseconds since the epoch.
 */
export function createProbeSigns(
  secret: () => Uint8Array | undefined,
  now: () => number,
): ProbeSigns {
  const sign = (key: Uint8Array, ...parts: readonly string[]): string =>
    createHmac('sha256', key).update(JSON.stringify(parts)).digest('base64url')
  const isValid = (key: Uint8Array, question: string): boolean => {
    const [, text = '', mac = ''] = QUESTION.exec(question) ?? []
    if (mac === '' || !isSameText(mac, sign(key, 'question', text))) return false
    return Math.abs(now() - Number.parseInt(text, 36)) <= LASTS_MS
  }
  return {
    ask: () => {
      const key = secret()
      if (key === undefined) return undefined
      const text = `${Math.floor(now()).toString(36)}.${randomBytes(16).toString('base64url')}`
      return `${text}.${sign(key, 'question', text)}`
    },
    prove: (question, role, about) => {
      const key = secret()
      if (key === undefined || !isValid(key, question)) return undefined
      return sign(key, 'answer', question, role, ...about)
    },
  }
}

/** Compares in constant time. */
export function isSameText(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** What the proof of ext_authz is about: a request of the route's, as the Envoy has sent it. */
export const aboutRequest = (key: string, host: string, path: string): readonly string[] => [
  key,
  host.toLowerCase().replace(/:\d+$/, ''),
  path,
]

/** The answer to a probe, in the header PROBED_HEADER: the question, and the proof of each server, or "-". */
export interface ProbeAnswer {
  readonly question: string
  readonly proofs: Readonly<Record<ProbeRole, string>>
}

/** Stands for a missing proof in an answer. */
export const NO_PROOF = '-'

/** Returns the answer as text. */
export const probeAnswerText = ({ question, proofs }: ProbeAnswer): string =>
  [question, proofs.ext_authz, proofs.ext_proc].join(' ')

/** Returns undefined if the text is no answer. */
export function readProbeAnswer(text: string): ProbeAnswer | undefined {
  const [question, authz, proc, ...more] = text.split(' ')
  return question === undefined || authz === undefined || proc === undefined || more.length > 0
    ? undefined
    : { question, proofs: { ext_authz: authz, ext_proc: proc } }
}
