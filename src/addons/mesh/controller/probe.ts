// Sends one probe and judges its answer.

import { lookup } from 'node:dns/promises'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { AddressRules } from '../../../kit/addresses/address-rules.js'
import { errorText } from '../../../kit/errors.js'
import {
  aboutRequest,
  isSameText,
  type ProbeSigns,
  readProbeAnswer,
} from '../../../kit/probe-signs.js'
import { CLOSED_HEADER, PROBE_HEADER, PROBED_HEADER } from '../../../model/names.js'
import type { ProbeTarget } from './probe-targets.js'

/** Result of a probe: refused by Gatehouse; answered by anything else; or not answered, at most by Envoy itself. */
export type ProbeResult =
  | { readonly type: 'proven' }
  | { readonly type: 'unproven'; readonly problem: string }
  /**
   * isMute: nothing came back at all, so the next probe of the place may take as long. mayBeOpen: either Envoy itself has
   * answered, or a backend.
   */
  | {
      readonly type: 'silent'
      readonly problem: string
      readonly isMute?: true
      readonly mayBeOpen?: true
    }

const TIMEOUT_MS = 3_000

/** What a probe needs. */
export interface ProbeDeps {
  readonly signs: ProbeSigns
  /** Whoever writes a Gateway chooses the addresses that are probed. */
  readonly rules: AddressRules
  /**
   * Places whose refusals came without the sign of an upstream, so that it tells a backend's answer from the mesh's own. Where
   * another proxy is in front, all answers have it.
   */
  readonly direct: Set<string>
  /** Timeout of a whole probe in milliseconds; absent: the default. */
  readonly timeoutMs?: number
}

/** Never rejects. signal: aborts the probe. */
export async function probe(
  target: ProbeTarget,
  deps: ProbeDeps,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const { signs, direct } = deps
  const question = signs.ask()
  if (question === undefined)
    return { type: 'silent', problem: 'the secret of probes is not known' }
  try {
    const answer = await send(target, deps, question, signal)
    const isDirect = direct.has(target.place)
    const result = judge(target, signs, question, {
      ...answer,
      isUpstream: answer.isUpstream && isDirect,
    })
    if (result.type === 'proven') remember(direct, target.place, !answer.isUpstream)
    return result
  } catch (error) {
    const problem = `no answer from ${placeOf(target)}: ${errorText(error)}`
    return { type: 'silent', problem, isMute: true }
  }
}

interface Answer {
  readonly status: number
  /** The header with the proofs. */
  readonly answer: string
  /** Whether an upstream has answered, and not Envoy itself. */
  readonly isUpstream: boolean
  /** Whether Gatehouse's address for closed routes has answered. */
  readonly isClosed: boolean
}

/** Envoy adds it to the answers of upstreams. Envoy Gateway's does not, by default. */
const UPSTREAM_HEADER = 'x-envoy-upstream-service-time'

/** Most places that are remembered. */
const MOST_PLACES = 10_000

function remember(direct: Set<string>, place: string, isDirect: boolean): void {
  if (!isDirect) direct.delete(place)
  else if (direct.size < MOST_PLACES) direct.add(place)
}

const send = (
  target: ProbeTarget,
  { rules, timeoutMs = TIMEOUT_MS }: ProbeDeps,
  question: string,
  signal: AbortSignal,
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { address, port, isTls, host, path, method, headers } = target
    if (isIP(address) !== 0) expectAllowed(rules, address, port)
    const options = {
      host: address,
      port,
      path,
      method,
      agent: false,
      lookup: allowedLookup(rules, port),
      headers: { ...headers, host, [PROBE_HEADER]: question },
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    }
    // Whoever answers must prove itself by the secret, so its certificate does not matter.
    const tls = { rejectUnauthorized: false, ...(isIP(host) === 0 ? { servername: host } : {}) }
    const sent = isTls ? httpsRequest({ ...options, ...tls }) : httpRequest(options)
    sent.on('error', reject)
    sent.on('response', (response) => {
      const { headers: received } = response
      const answer = received[PROBED_HEADER]
      resolve({
        status: response.statusCode ?? 0,
        answer: typeof answer === 'string' ? answer : '',
        isUpstream: UPSTREAM_HEADER in received && !(CLOSED_HEADER in received),
        isClosed: CLOSED_HEADER in received,
      })
      response.on('error', () => undefined)
      response.destroy()
    })
    sent.end()
  })

/** @throws {Error} when the address is forbidden. */
function expectAllowed({ refusalOf }: AddressRules, ip: string, port: number): void {
  const refusal = refusalOf(ip, port)
  if (refusal !== undefined) throw new Error(`${ip} is ${refusal}, which --allow-address permits`)
}

/** Resolves a host name to an address that is allowed. */
const allowedLookup =
  (rules: AddressRules, port: number): LookupFunction =>
  (hostname, options, done) => {
    lookup(hostname, options).then(
      (found) => {
        const all = Array.isArray(found) ? found : [found]
        try {
          for (const { address } of all) expectAllowed(rules, address, port)
        } catch (error) {
          done(error as Error, '')
          return
        }
        const [first] = all
        if (options.all === true) done(null, all)
        else done(null, first?.address ?? '', first?.family)
      },
      (error: unknown) => done(error as Error, ''),
    )
  }

function judge(
  target: ProbeTarget,
  signs: ProbeSigns,
  question: string,
  { status, answer, isUpstream, isClosed }: Answer,
): ProbeResult {
  const { keys, host, path } = target
  const read = readProbeAnswer(answer)
  const lacks = [
    ...lackOf('ext_authz', keys.authz && aboutRequest(keys.authz, host, path)),
    ...lackOf('ext_proc', keys.proc && [keys.proc]),
  ]
  function lackOf(
    role: 'ext_authz' | 'ext_proc',
    about: readonly string[] | '' | undefined,
  ): readonly string[] {
    if (about === undefined || about === '') return []
    const wanted = signs.prove(question, role, about)
    const isProven =
      read?.question === question && wanted !== undefined && isSameText(read.proofs[role], wanted)
    return isProven ? [] : [role]
  }
  if (lacks.length === 0) return { type: 'proven' }
  const problem = `${placeOf(target)} answered ${status} to ${target.method} ${path} without ${lacks.join(' and ')}`
  if (status < 500 || isUpstream) return { type: 'unproven', problem }
  // Envoy itself answers so if it cannot reach Gatehouse: the route is closed then.
  return { type: 'silent', problem, ...(!isClosed && { mayBeOpen: true }) }
}

const placeOf = ({ address, port, host }: ProbeTarget): string =>
  host === address ? `${address}:${port}` : `${address}:${port} (${host})`
